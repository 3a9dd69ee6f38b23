"""A program's steps are handed over on one processor; a tool's own code, and what it starts, may run on any.

In a process of its own, because which threads are the sandbox's is known only where nothing has used it before.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

if sys.platform != "linux":
    pytest.skip("elsewhere nothing is moved", allow_module_level=True)
if len(os.sched_getaffinity(0)) == 1:
    pytest.skip("there is only one processor", allow_module_level=True)

_SCRIPT = """
import asyncio, contextlib, json, os, pathlib, sys
from callgate import Callgate, tool
from callgate.flows.program import one_processor, sandbox

one_processor._LATE = float(sys.argv[1])
sandbox._SHORT = sandbox._GRACE = 60.0
interpreters, own, started = set(), set(), set()

def widths(process):
    found = set()
    with contextlib.suppress(OSError):  # a process or thread may end between two looks
        for task in pathlib.Path(f"/proc/{process}/task").iterdir():
            with contextlib.suppress(OSError):
                found.add(len(os.sched_getaffinity(int(task.name))))
    return found

def children():
    found = []
    for task in pathlib.Path("/proc/self/task").iterdir():
        with contextlib.suppress(OSError):
            found += (task / "children").read_text().split()
    return found

@tool(effects="read_only")
async def price(item: int) -> int:
    '''What an item costs.'''
    own.add(len(os.sched_getaffinity(0)))
    interpreters.update(*map(widths, children()))
    if item == 90:
        started.add(await asyncio.to_thread(lambda: len(os.sched_getaffinity(0))))
    return item

async def main():
    async with Callgate.open("memory://") as gate:
        gate.add(price)
        run = await gate.run_program("for item in range(100):\\n    await price(item)\\n" + sys.argv[2])
        after = sorted(widths("self").union(*map(widths, children())))
    told = {"own": own, "started": started, "interpreters": interpreters, "after": after, "state": [run.state.value]}
    print(json.dumps({name: sorted(each) for name, each in told.items()}))

asyncio.run(main())
"""


def _widths(*, late: float, end: str) -> dict[str, list[int]]:
    """On how many processors the parts of a run could run, as the system says it."""
    command = [sys.executable, "-c", _SCRIPT, str(late), end]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    return json.loads(done.stdout)


@pytest.mark.parametrize(("end", "state"), [("'end'", "finished"), ("1 / 0", "failed")])
def test_only_the_interpreter_is_kept_near_and_only_as_long_as_its_program_runs(end: str, state: str) -> None:
    everywhere = len(os.sched_getaffinity(0))
    told = _widths(late=-1.0, end=end)
    assert told["interpreters"] == [1, everywhere]
    assert told["own"] == told["started"] == told["after"] == [everywhere]
    assert told["state"] == [state]


def test_nothing_is_moved_where_steps_are_handed_over_at_once() -> None:
    everywhere = len(os.sched_getaffinity(0))
    told = _widths(late=60.0, end="'end'")
    assert told["own"] == told["started"] == told["interpreters"] == told["after"] == [everywhere]
