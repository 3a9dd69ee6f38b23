"""A program that plays one part in a test of two processes: it says what it does, and goes on when it is told."""

from __future__ import annotations

import asyncio
import itertools
import json
import sqlite3
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

from callgate import Callgate, Context, Refused, tool
from tests.crash.worker import Order, Worker
from tests.crash.workload import FREE, TOOLS, happen, log_effects_to

AT_ONCE = 16
here = threading.Event()
"""Set in the process that plays a part: elsewhere the same tools do not stop."""


def say(line: str) -> None:
    """Tell the test."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


async def told() -> None:
    """Wait until the test says to go on."""
    await asyncio.to_thread(sys.stdin.readline)


@tool(effects="network_access", risk="medium", timeout=60)
async def hold(n: int, when: str) -> str:
    """Stop in the middle: `before` the effect or `after` it."""
    token = happen(n) if when == "after" else ""
    if here.is_set():
        say("entered")
        await told()
    return token or happen(n)


@tool(effects="network_access", risk="medium", timeout=60, idempotent=True)
async def hold_repeatable(n: int, when: str) -> str:
    """As `hold`, and may be done again."""
    return await hold(n, when)


HOLDING = (hold, hold_repeatable)


async def hold_a_call(worker: Worker, order: dict[str, Any]) -> None:
    """Make one call and stop in its handler."""
    outcome = await worker.gate.call(order["tool"], order["arguments"], Context(idempotency_key=order["key"]))
    say(outcome.status)


async def hold_the_lock(worker: Worker, _: dict[str, Any]) -> None:
    """Stop in the middle of a transaction, with the store's write lock."""
    gate: Any = worker.gate

    def unit(tx: Any) -> None:
        tx.put_meta("half", "written")
        say("locked")
        sys.stdin.readline()

    await gate._opened.parts.store.write(unit)
    say("let go")
    await told()


async def hog_the_lock(_: Worker, order: dict[str, Any]) -> None:
    """Write without pause: the lock is free for a moment only, as it is beside many busy processes."""
    path = order["url"].removeprefix("sqlite:///")
    with closing(sqlite3.connect(path, isolation_level=None, timeout=60)) as database:
        say("hogging")
        _hog(database)


def _hog(database: sqlite3.Connection) -> None:
    while True:
        database.execute("BEGIN IMMEDIATE")
        time.sleep(0.06)  # longer than a commit takes: nobody else gets in
        database.execute("ROLLBACK")
        time.sleep(0.001)  # the moment


async def fill_up(worker: Worker, _: dict[str, Any]) -> None:
    """Call until the store has no room any more."""
    for first in itertools.count(0, AT_ONCE):
        outcomes = await asyncio.gather(*(worker.call(first + number) for number in range(AT_ONCE)))
        if any(isinstance(outcome, Refused) for outcome in outcomes):
            say("full")
            await told()


async def call_without_end(worker: Worker, _: dict[str, Any]) -> None:
    """Call without end, and say after each call that it was told."""
    await asyncio.gather(*(worker.call_without_end(partial(say, "told")) for _ in range(AT_ONCE)))


PARTS: dict[str, Callable[[Worker, dict[str, Any]], Awaitable[None]]] = {
    part.__name__: part for part in (hold_a_call, hold_the_lock, hog_the_lock, fill_up, call_without_end)
}


async def main() -> None:
    """Play the part that the first argument orders."""
    here.set()
    order = json.loads(sys.argv[1])
    folder = Path(order["folder"])
    log_effects_to(folder / "effects")
    gate = Callgate.open(order["url"], FREE)
    gate.add(*TOOLS, *HOLDING)
    async with gate:
        worker = Worker(Order(url=order["url"], folder=folder, name="alone", seed=order.get("seed", 0)), gate)
        # What the gate does on its own when it was opened is over then, and cannot fall into what the test does next.
        await gate.flush()
        await gate.flush()
        await PARTS[order["part"]](worker, order)


if __name__ == "__main__":
    asyncio.run(main())
