"""The examples run as they stand, without a key and without a network."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["anthropic_loop", "openai_loop"])
def test_an_example_pays_the_rent_once_a_person_agreed(name: str, tmp_path: Path):
    done = subprocess.run(
        [sys.executable, "-W", "error", str(EXAMPLES / f"{name}.py")],
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "stands in for the model" in done.stdout
    assert done.stdout.index("May it? bank.pay") < done.stdout.index("done | I read: 700; paid 600 to bob")
    assert "recorded: tool_call.succeeded bank.pay" in done.stdout
