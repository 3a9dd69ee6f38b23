"""Programs that tools start: where nobody could tell how one ended, none is started. TOOL-09."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from callgate.tools.programs import find_program
from tests.needed import missing

IGNORING = "import signal; signal.signal(signal.SIGCHLD, signal.SIG_IGN)"
ASKING = """
import asyncio, sys
from callgate import Callgate, Context
from callgate.model.levels import Autonomy, Happened

async def main():
    async with Callgate.open("memory://", working_directory=".", builtin_tools=["run_shell", "search_files"]) as gate:
        exec(sys.argv[2])
        for name, arguments in (("run_shell", {"command": "touch ran"}), ("search_files", {"pattern": "x["})):
            outcome = await gate.call(name, arguments, Context(autonomy=Autonomy.A4))
            print(outcome.status, getattr(outcome, "happened", Happened.NONE).value, "SIG_DFL" in str(outcome))

exec(sys.argv[1])
asyncio.run(main())
"""


@pytest.mark.usefixtures("bubblewrap")
@pytest.mark.parametrize(("before", "when_open", "status"), [(IGNORING, "", "refused"), ("", IGNORING, "failed")])
def test_where_children_are_ignored_no_program_is_started(
    before: str, when_open: str, status: str, tmp_path: Path
) -> None:
    if find_program("rg") is None:
        missing("ripgrep is not installed")
    (tmp_path / "callgate.yaml").write_text("autonomy: A4\nscopes: {shell: {requires_approval: false}}\n")
    command = (sys.executable, "-c", ASKING, before, when_open)
    told = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True, timeout=60).stdout
    assert told.splitlines() == [f"{status} none True"] * 2, told
    assert not (tmp_path / "ran").exists()


def test_what_is_told_is_what_the_system_does_and_not_what_python_knows() -> None:
    code = (
        "import ctypes, signal; from callgate.tools.programs import ends_unknown\n"
        f"{IGNORING}; assert ends_unknown()\n"
        "ctypes.CDLL(None).signal(int(signal.SIGCHLD), None); assert ends_unknown() is None"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
