"""The examples of skills and trees run as they stand, and tell the story that they say they tell."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
TOLD = {
    "skill.py": """\
restock does: network_access
somebody is asked about: restock - done so far: []
somebody is asked about: order - done so far: []
somebody is asked about: order - done so far: ['tea']
['ordered tea', 'ordered paper', 'close_account: refused']
""",
    "tree.py": """\
RUNNING - somebody is asked about: publish
SUCCESS ['what https://example.com/tea says']
SUCCESS ['what https://example.com/tea says']
""",
}


@pytest.mark.parametrize("name", TOLD)
def test_the_example_tells_its_story(name: str, tmp_path: Path):
    done = subprocess.run(
        [sys.executable, "-W", "error", str(EXAMPLES / name)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == TOLD[name]
