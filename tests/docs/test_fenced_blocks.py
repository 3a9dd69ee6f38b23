"""Every Python block of the README and the docs runs as it stands, and prints what the page says it prints."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
_BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL)


def blocks() -> list[tuple[str, str, str]]:
    found: list[tuple[str, str, str]] = []
    for page in PAGES:
        text = page.read_text()
        for match in _BLOCK.finditer(text):
            line = text[: match.start()].count("\n") + 1
            found.append((f"{page.name}:{line}", match[1], match[2] or ""))
    return found


@pytest.mark.parametrize(("place", "code", "printed"), blocks(), ids=[block[0] for block in blocks()])
def test_the_block_runs_and_prints_what_the_page_says(place: str, code: str, printed: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, f"{place}: {done.stderr}"
    assert done.stdout == printed


def test_there_are_blocks_to_run() -> None:
    assert len(blocks()) >= 4
