"""A process that calls tools through a gate of its own until it is killed, and one that asks everything again."""

from __future__ import annotations

import asyncio
import os
import random
import traceback
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from callgate import Callgate, Outcome, Pending
from callgate.errors import ApprovalConflict
from tests.crash.journal import Journal
from tests.crash.workload import FREE, TOOLS, context_of, key_of, log_effects_to, tool_of

AGAIN = "again-"
"""Begins the keys under which an equal call is made although the first one's outcome is unknown."""
_ASKED_AGAIN = 0.3
_WAITING = 0.3
_REST = 0.005


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What a process has to do."""

    url: str
    folder: Path
    name: str
    seed: int
    first: int = 0
    """Its own numbers begin here."""
    others: tuple[int, ...] = ()
    """Where the numbers of other processes begin, dead and alive: it asks for some of theirs, too."""
    at_once: int = 16


class Worker:
    """Calls in one process."""

    def __init__(self, order: Order, gate: Callgate) -> None:
        self.gate = gate
        self._order = order
        self._dice = random.Random(order.seed)
        self._journal = Journal(order.folder / f"{order.name}.journal")
        self._next = order.first
        self._asked_here: set[str] = set()

    async def call(self, number: int, key: str = "", *, wait: float | None = None) -> Outcome:
        """Make one call, and write down what was asked and what was told."""
        key = key or key_of(number)
        self._journal.ask(number)
        context = context_of(number, key=key)
        try:
            outcome = await self.gate.call(tool_of(number), {"n": number}, context, wait=wait)
        except Exception:
            self._journal.fail(f"{tool_of(number)} {number}: {traceback.format_exc()}")
            raise
        if isinstance(outcome, Pending):
            self._asked_here.add(outcome.approval_id)
        self._journal.tell(number, key, outcome)
        return outcome

    async def call_without_end(self, ready: Callable[[], None]) -> None:
        """One call after the other, new ones and ones that somebody else made or makes right now."""
        while True:
            await self.call(self._choose(), wait=self._dice.choice((None, _WAITING)))
            ready()

    async def approve_without_end(self) -> None:
        """Say yes to what other processes asked."""
        while True:
            await self.approve_all(spare=self._asked_here)
            await asyncio.sleep(_REST)

    async def approve_all(self, *, spare: Iterable[str] = ()) -> None:
        """Say yes to every question but these."""
        for approval in await self.gate.approvals():
            if approval.id in spare:
                continue
            try:
                await self.gate.approve(approval.id, by=f"operator of {self._order.name}")
            except ApprovalConflict:
                continue  # another process was faster

    async def ask_again(self, number: int) -> None:
        """The same key once more; where nobody knows what became of it, an equal call under a new key as well."""
        outcome = await self.call(number)
        if isinstance(outcome, Pending):
            await self.approve_all()
            outcome = await self.call(number)
        if outcome.error is not None and outcome.error.code == "outcome_unknown":
            await self.call(number, AGAIN + key_of(number))

    def _choose(self) -> int:
        if self._order.others and self._dice.random() < _ASKED_AGAIN:
            return self._dice.choice(self._order.others) + self._dice.randrange(2 + self._next - self._order.first)
        self._next += 1
        return self._next - 1


def work(order: Order, ready: int) -> None:
    """Be a worker until somebody kills this process; `ready` is a pipe that hears when it is under load."""

    async def busy(worker: Worker) -> None:
        def tell() -> None:
            nonlocal ready
            if ready >= 0:
                os.write(ready, b".")
                ready = -1

        callers = [worker.call_without_end(tell) for _ in range(order.at_once)]
        await asyncio.gather(worker.approve_without_end(), *callers)

    _run(order, busy)


def ask_again(order: Order, numbers: Iterable[int]) -> None:
    """Ask for everything once more, and end."""
    waiting = list(numbers)

    async def busy(worker: Worker) -> None:
        await worker.approve_all()
        await asyncio.gather(*(go_on(worker) for _ in range(order.at_once)))

    async def go_on(worker: Worker) -> None:
        while waiting:
            await worker.ask_again(waiting.pop())

    _run(order, busy)


def _run(order: Order, busy: Callable[[Worker], Awaitable[None]]) -> None:
    async def main() -> None:
        gate = Callgate.open(order.url, FREE, working_directory=order.folder)
        gate.add(*TOOLS)
        async with gate:
            await busy(Worker(order, gate))

    log_effects_to(order.folder / "effects")
    asyncio.run(main())
