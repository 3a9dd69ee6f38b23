"""Machine: what a program may ask of the machine it runs on. The time, and to wait; nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, tzinfo
from typing import Any

from callgate.flows.program.journal import Diverged, Journal
from callgate.flows.program.steps import Answer, Error, System, Value

_CLOCKS = frozenset({"time.time", "datetime.now", "date.today"})
_SLEEPS = frozenset({"time.sleep", "asyncio.sleep", "system.sleep", "system.async_sleep"})
_IMPORT = "import"
_LONGEST_SLEEP = 10.0
ANSWERED = _CLOCKS | _SLEEPS | {_IMPORT}
"""What is answered by what it is asked with: numbers, names and time zones, the sandbox takes nothing else for them."""


class Machine:
    """Answers from the journal first, so that a program that is run again sees the time it saw."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now

    async def ask(self, system: System, journal: Journal) -> Answer:
        """The answer to one question."""
        if system.function in _CLOCKS:
            return Value(_moment(system, self._time(journal)))
        if system.function in _SLEEPS:
            return await _sleep(system, journal)
        if system.function == _IMPORT:
            name = str(system.positional[0]) if system.positional else "it"
            return Error("ModuleNotFoundError", f"a program cannot import {name}: it has the functions it was given")
        return Error("PermissionError", f"a program has no {system.function}: no files, no network, no environment")

    def _time(self, journal: Journal) -> float:
        known, moment = journal.moment()
        if known:
            return _told_before(moment)
        now = self._now()
        journal.clocked(now)
        return now


def _told_before(moment: float | None) -> float:
    if moment is None:
        raise Diverged("it slept where it asks for the time now")
    return moment


async def _sleep(system: System, journal: Journal) -> Answer:
    known, moment = journal.moment()
    if known and moment is not None:
        raise Diverged("it asked for the time where it sleeps now")
    if not known:
        seconds: Any = system.positional[0] if system.positional else 0
        if not isinstance(seconds, int | float) or not 0 <= seconds < float("inf"):
            return Error("ValueError", "sleep length must be a number of seconds from 0")
        await asyncio.sleep(float(min(seconds, _LONGEST_SLEEP)))
        journal.clocked(None)
    return Value(None)


def _moment(system: System, epoch: float) -> Any:
    if system.function == "time.time":
        return epoch
    zone: Any = system.positional[0] if system.positional else None
    aware = datetime.fromtimestamp(epoch, zone if isinstance(zone, tzinfo) else UTC)
    if system.function == "date.today":
        return aware.date()
    return aware if isinstance(zone, tzinfo) else aware.replace(tzinfo=None)
