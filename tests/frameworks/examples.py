"""Running an example in a process of its own, as a person would."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

_EXAMPLES = Path(__file__).parents[2] / "examples"


def run(name: str) -> list[str]:
    """The lines that the example prints; a warning fails it."""
    command = [sys.executable, "-W", "error", str(_EXAMPLES / name)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()
