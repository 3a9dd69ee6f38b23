"""Calls in a process that has mounts of its own: they are gone with it, and nothing else on the machine sees them."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from callgate import Call as CallOfHost
from callgate import Callgate, Context
from callgate.model.levels import Autonomy
from callgate.model.outcome import Pending
from callgate.runtime.host_tools import host_tools
from tests.needed import missing

_UNSHARE = ("unshare", "--mount", "--propagation", "private")
_AS_ROOT = () if os.geteuid() == 0 else ("--map-root-user", "--pid", "--fork")
Call = tuple[str, dict[str, Any]]


class Told(NamedTuple):
    """What came of one call."""

    ok: bool
    said: str


def bind(what: Path | str, where: Path | str) -> tuple[str, ...]:
    """One place at another path as well."""
    return "--bind", str(what), str(where)


def processes(where: Path | str) -> tuple[str, ...]:
    """What shows processes, at one more path."""
    return "-t", "proc", "proc", str(where)


def call_among(mounts: Sequence[tuple[str, ...]], *calls: Call, late: bool = False, **opening: Any) -> list[Told]:
    """Make calls one after the other where this is mounted; whoever is asked about one says yes. A host's is judged.

    Args:
        mounts: Words for `mount`.
        calls: Tools and their arguments.
        late: Whether it is mounted when the gate is open, and has looked around.
        opening: How the gate is opened.
    """
    asked = json.dumps({"mounts": mounts, "calls": calls, "late": late, "opening": opening}, default=str)
    return [Told(*each) for each in json.loads(_run("-m", "tests.own_mounts", said=asked))]


def in_own_mounts(code: str, *words: str) -> str:
    """What a program prints that may mount as it likes."""
    return _run("-c", code, *words)


def _run(*words: str, said: str = "") -> str:
    needs_mounts()
    done = subprocess.run(
        [*_UNSHARE, *_AS_ROOT, sys.executable, *words],
        input=said,
        cwd=Path(__file__).parent.parent,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def needs_mounts() -> None:
    """Nothing can be tried where nothing may be mounted."""
    try:
        done = subprocess.run([*_UNSHARE, *_AS_ROOT, "true"], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        missing("unshare is not installed: apt-get install util-linux")
    if done.returncode != 0:
        missing(f"nothing may be mounted here: {done.stderr.strip()}")


def _mount(mounts: Sequence[Sequence[str]]) -> None:
    for words in mounts:
        subprocess.run(["mount", *words], check=True)


async def _answer(asked: dict[str, Any]) -> list[Told]:
    calls: list[Call] = asked["calls"]
    if not asked["late"]:
        _mount(asked["mounts"])
    async with Callgate.open(asked["opening"].pop("store", "memory://"), **asked["opening"]) as gate:
        if asked["late"]:
            await _call(gate, "list_directory", {})
            _mount(asked["mounts"])
        gate.add(*host_tools())
        return [
            await (_judge if name.startswith("host.") else _call)(gate, name, arguments) for name, arguments in calls
        ]


async def _judge(gate: Callgate, name: str, arguments: dict[str, Any]) -> Told:
    judged = await gate.judge(CallOfHost(name, arguments), Context(autonomy=Autonomy.A4))
    return Told(judged.allowed, str(judged.outcome and judged.outcome.error))


async def _call(gate: Callgate, name: str, arguments: dict[str, Any]) -> Told:
    context = Context(autonomy=Autonomy.A4)
    outcome = await gate.call(name, arguments, context)
    if isinstance(outcome, Pending):
        await gate.approve(outcome.approval_id, by="ann")
        outcome = await gate.resume(outcome.approval_id, context)
    return Told(outcome.ok, str(outcome.output if outcome.ok else outcome.error))


if __name__ == "__main__":
    sys.stdout.write(json.dumps(asyncio.run(_answer(json.load(sys.stdin)))))
