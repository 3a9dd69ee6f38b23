"""What a tool starts outside of the sandbox ends with its Callgate, however that ends. TOOL-09.

A process that is stopped does nothing, and so cannot end by itself: it has to be ended.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from callgate import Callgate
from callgate.adapters.tether import Tether
from callgate.model.levels import Category

HOST = """
import asyncio, json, os, signal, sys
from callgate import Callgate
from callgate.adapters.tether import Tether

tie = Tether.tie

def tie_and_tell(self, pid):
    os.kill(pid, signal.SIGSTOP)
    tie(self, pid)
    print(pid, flush=True)

Tether.tie = tie_and_tell

async def main():
    directory, tool, arguments = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
    async with Callgate.open("memory://", working_directory=directory, builtin_tools=[tool]) as gate:
        await gate.call(tool, arguments)

asyncio.run(main())
"""
CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "monty": ("python_eval", {"expression": "while True:\n    pass"}),
    "sympy": ("symbolic_solve", {"equation": "x**2 - 2"}),
    "sqlite": ("sql_query", {"query": "SELECT 1 AS a"}),
    "ruff": ("lint_python", {"code": "x = 1\n"}),
    "ripgrep": ("search_files", {"pattern": "a"}),
    "7z": ("archive_open", {"path": "a.7z"}),
}


@pytest.mark.crash
@pytest.mark.parametrize("way", CALLS)
def test_it_ends_with_a_callgate_that_is_killed(way: str, tmp_path: Path) -> None:
    (tmp_path / "a.7z").write_bytes(b"7z\xbc\xaf\x27\x1c" + bytes(100))
    tool, arguments = CALLS[way]
    command = [sys.executable, "-c", HOST, str(tmp_path), tool, json.dumps(arguments)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as host:
        try:
            assert host.stdout is not None
            handle = os.pidfd_open(int(host.stdout.readline()))
        finally:
            host.kill()
    try:
        assert select.select([handle], [], [], 20)[0], "it is still there"
    finally:
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(handle, signal.SIGKILL)
        os.close(handle)


@pytest.mark.parametrize("way", ["sympy", "sqlite", "ruff"])
async def test_it_ends_with_its_call(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[int] = []
    tie = Tether.tie

    def tie_and_stop(self: Tether, pid: int) -> None:
        tie(self, pid)
        started.append(pid)
        os.kill(pid, signal.SIGSTOP)

    monkeypatch.setattr(Tether, "tie", tie_and_stop)
    tool, arguments = CALLS[way]
    async with Callgate.open("memory://", builtin_tools=[tool]) as gate:
        outcome = await gate.call(tool, arguments, timeout=0.5)
    assert outcome.error is not None
    assert outcome.error.category is Category.TIMEOUT
    (pid,) = started
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_one_that_is_over_already_can_be_tied() -> None:
    """A process may be over before anybody comes to tie it, and so may what was to be done with it."""
    with subprocess.Popen(["/bin/true"]) as over:
        over.wait()
    with Tether() as tether:
        tether.tie(over.pid)
    with Tether() as unused:
        assert len(unused.handles) == 1
