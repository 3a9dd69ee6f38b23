"""The processes of a program's life: one runs it and is killed, one decides, one lets it go on."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

from callgate import Callgate, Context, tool
from callgate.model.event import Event

SOURCE = """
seen = [await look(n) for n in range(3)]
await note(f"before {sum(seen)}")
answer = await pay(sum(seen))
await note(f"after {answer}")
answer
"""
STUCK = """
first = await note("first")
await stand()
second = await note("second")
[first, second]
"""
LED = """
await note("first")
await halt()
if await look(0) == 1:
    await note("second")
await halt()
"""


def tools(folder: Path) -> list[Any]:
    """Tools whose effects are lines of a file, which no store of ours knows."""

    def witness(line: str) -> None:
        with (folder / "witness").open("a") as file:
            file.write(line + "\n")
            os.fsync(file.fileno())

    @tool(effects="read_only")
    async def look(n: int) -> int:
        """Look at something."""
        witness(f"looked {n}")
        return n + 1

    @tool(effects="system_state", risk="low", allowed_callers={"direct", "chain"})
    async def note(text: str) -> str:
        """Write something down."""
        witness(f"noted {text}")
        return text

    @tool(effects="network_access", risk="high", allowed_callers={"direct", "chain"})
    async def pay(amount: int) -> str:
        """Pay an amount."""
        witness(f"paid {amount}")
        return f"paid {amount}"

    @tool(effects="read_only")
    async def stand() -> int:
        """Stand still, the first time."""
        if not (folder / "stood").exists():
            (folder / "stood").touch()
            say(standing=True)
            await asyncio.Event().wait()
        return 1

    @tool(effects="read_only")
    async def halt() -> int:
        """Stand still until whoever started this process says something."""
        say(halted=True)
        await asyncio.to_thread(sys.stdin.readline)
        return 1

    return [look, note, pay, stand, halt]


def say(**facts: Any) -> None:
    """One line for who started this."""
    print(json.dumps(facts), flush=True)  # noqa: T201 - it is how this process speaks


def die(_event: Event) -> None:
    """This process is killed at once."""
    os.kill(os.getpid(), signal.SIGKILL)


async def play(part: str, folder: Path, name: str) -> None:
    """One part, in a process of its own."""
    async with Callgate.open(f"sqlite:///{folder / 'town.db'}", working_directory=folder) as gate:
        gate.add(tools(folder))
        if part == "run":
            run = await gate.run_program({"stuck": STUCK, "led": LED}.get(name, SOURCE), program_id=name)
            say(state=run.state.value, approvals=[each.approval_id for each in run.waiting])
            await asyncio.Event().wait()
        elif part in {"propose", "propose and die"}:
            gate.add_programs()
            if part == "propose and die":
                gate.on("program.proposed", die)
            given = {"source": 'await note("dry")', "dry_run": True}
            made = await gate.call("run_program", given, Context(session="s", idempotency_key=name))
            say(run=made.unwrap())
        elif part == "approve":
            await gate.approve(name, by="ann")
            say(approved=True)
        elif part == "resume":
            run = await gate.resume_program(name)
            report = await gate.verify_audit()
            said = None if run.error is None else run.error.message
            say(state=run.state.value, value=run.value, calls=run.calls, audit=report.ok, error=said)


if __name__ == "__main__":
    asyncio.run(play(sys.argv[1], Path(sys.argv[2]), sys.argv[3]))
