"""Starts processes that call without end on one store, and kills each at a random instant.

Run as a program with an order in JSON. It knows no gate: it has one thread, so that it may fork, and it has imported
everything before, so that a process is there at once. What it did, it prints.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import random
import select
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from callgate import Callgate
from tests.crash.journal import Journal, read_journals
from tests.crash.worker import Order, ask_again, work
from tests.crash.workload import FREE, TOOLS, context_of, log_effects_to, tool_of

LONGEST_LIFE = 60
"""Seconds after which a process that nobody killed ends by itself."""
_BLOCK = 1_000_000
_KILLED_WHILE_OPENING = 0.1


@dataclass
class Victim:
    """A process that will be killed."""

    pid: int
    first: int
    pipe: int
    kill_at: float | None = None
    """None until it is under load."""
    lives: float = 0.0
    ready: bool = False


@dataclass
class Storm:
    """One store, many processes, many deaths."""

    url: str
    folder: Path
    seed: int
    kills: int
    rounds: int
    processes: int
    victims: list[Victim] = field(default_factory=list[Victim])
    killed: int = 0
    """Processes killed while they were under load."""
    killed_early: int = 0
    """Processes killed before that: while they opened the store or recovered what the dead had left."""
    started: int = 0
    asked: set[int] = field(default_factory=set[int])

    def __post_init__(self) -> None:
        self.dice = random.Random(self.seed)

    def run(self) -> None:
        """Every round kills its share, and then has a fresh process ask for everything of the round again."""
        for turn in range(self.rounds):
            self._rage(until=self.kills * (turn + 1) // self.rounds)
            self._ask_again(whole=turn == self.rounds - 1)

    def _rage(self, *, until: int) -> None:
        try:
            while self.killed < until:
                while len(self.victims) < self.processes:
                    self.victims.append(self._start())
                self._wait()
                self._kill_the_due()
        finally:
            for victim in list(self.victims):
                self._kill(victim)

    def _start(self) -> Victim:
        theirs, ours = os.pipe()
        self.started += 1
        first = self.started * _BLOCK
        order = self._order(first=first, others=tuple(victim.first for victim in self.victims))
        pid = _fork(lambda: work(order, ours), order)
        os.close(ours)
        victim = Victim(pid, first, theirs, lives=self.dice.uniform(0.0, 0.25))
        if self.dice.random() < _KILLED_WHILE_OPENING:
            victim.kill_at = time.monotonic() + victim.lives / 5
        return victim

    def _order(self, *, first: int = 0, others: tuple[int, ...] = ()) -> Order:
        return Order(
            url=self.url,
            folder=self.folder,
            name=f"{self.started:04}",
            seed=self.dice.randrange(2**32),
            first=first,
            others=others,
        )

    def _wait(self) -> None:
        """Until somebody gets under load, or is due."""
        due = [victim.kill_at for victim in self.victims if victim.kill_at is not None]
        left = max(0.0, min(due) - time.monotonic()) if due else LONGEST_LIFE
        pipes = [victim.pipe for victim in self.victims if not victim.ready]
        readable, _, _ = select.select(pipes, [], [], left)
        for victim in self.victims:
            if victim.pipe in readable and not victim.ready:
                victim.ready = True
                victim.kill_at = victim.kill_at or time.monotonic() + victim.lives

    def _kill_the_due(self) -> None:
        now = time.monotonic()
        for victim in list(self.victims):
            if victim.kill_at is not None and victim.kill_at <= now:
                self._kill(victim)

    def _kill(self, victim: Victim) -> None:
        """Only who was alive and under load counts."""
        self.victims.remove(victim)
        os.kill(victim.pid, signal.SIGKILL)
        _, status = os.waitpid(victim.pid, 0)
        under_load = victim.ready and os.read(victim.pipe, 1) == b"."
        os.close(victim.pipe)
        if not os.WIFSIGNALED(status) or os.WTERMSIG(status) != signal.SIGKILL:
            raise RuntimeError(f"process {victim.first // _BLOCK} ended by itself ({status})")
        if under_load:
            self.killed += 1
        else:
            self.killed_early += 1

    def _ask_again(self, *, whole: bool) -> None:
        """Ask for what the round asked, or for everything; the first who tries is killed, too, sometimes."""
        asked = read_journals(self.folder).asked
        numbers = sorted(asked if whole else asked - self.asked)
        self.asked |= asked
        self.dice.shuffle(numbers)
        if self.dice.random() < 1 / 2:
            self._again(numbers, lives=self.dice.uniform(0.02, 0.3))
        self._again(numbers, lives=None)

    def _again(self, numbers: list[int], *, lives: float | None) -> None:
        self.started += 1
        order = self._order()
        pid = _fork(lambda: ask_again(order, numbers), order)
        if lives is not None:
            time.sleep(lives)  # the random instant
            os.kill(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
        if lives is None and status != 0:
            raise RuntimeError(f"asking again ended with status {status}")


def _fork(run: Callable[[], None], order: Order) -> int:
    pid = os.fork()
    if pid:
        return pid
    try:
        signal.alarm(LONGEST_LIFE)
        run()
        os._exit(0)
    except BaseException:  # noqa: BLE001 - a forked process must not run on as its parent
        Journal(order.folder / f"{order.name}.journal").fail(traceback.format_exc())
        os._exit(1)
    raise AssertionError


async def _warm_up() -> None:
    """Import what a gate imports when it is first used."""
    importlib.import_module("callgate.stores.sqlite")
    gate = Callgate.open("memory://", FREE)
    gate.add(*TOOLS)
    async with gate:
        await gate.call(tool_of(0), {"n": 0}, context_of(0))


def main() -> None:
    """Do what the first argument orders."""
    log_effects_to(Path(os.devnull))
    asyncio.run(_warm_up())
    if threading.active_count() > 1:
        raise RuntimeError("a process with threads must not fork")
    order = json.loads(sys.argv[1])
    storm = Storm(**order | {"folder": Path(order["folder"])})
    began = time.monotonic()
    storm.run()
    figures = {
        "killed": storm.killed,
        "killed_early": storm.killed_early,
        "processes": storm.started,
        "seconds": round(time.monotonic() - began, 1),
    }
    sys.stdout.write(json.dumps(figures))


if __name__ == "__main__":
    main()
