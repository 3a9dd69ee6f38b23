"""The page on testing: its files are whole, and pytest runs every test in them."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "testing.md").read_text()
FILES = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("number", range(len(FILES)))
def test_pytest_runs_the_file_as_it_stands(number: int, tmp_path: Path) -> None:
    file = tmp_path / "test_page.py"
    file.write_text(FILES[number])
    # Nothing of this tree's own settings; and pytest-asyncio warns where this one is not said.
    (tmp_path / "pytest.ini").write_text("[pytest]\nasyncio_default_fixture_loop_scope = function\n")
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", str(file)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{FILES[number].count('def test_')} passed" in done.stdout


def test_there_are_files_to_run() -> None:
    assert len(FILES) == 2
