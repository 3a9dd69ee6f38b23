"""Lifetimes: until when a program can have run whose Callgate was killed, told by the clocks of this machine."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import NamedTuple

from callgate.tools.readiness import news_of

_BOOT = Path("/proc/sys/kernel/random/boot_id")
_MARGIN = 60.0
"""Seconds to start a program and to stop it, and for clocks that differ a little."""
_DYING_SECONDS = 10.0
"""What is killed ends at once, but for a disk or a machine that is very busy."""
_START = 19
"""Where a process's start is told, behind its name."""


class Lifetime(NamedTuple):
    """When a program was let go, and how long it may run."""

    boot: str
    """Which start of the machine that was."""
    begun: float
    """The time of day."""
    since_boot: float
    awake: float
    """The same without the time that the machine slept, in which no program runs, nor its limit."""
    seconds: float

    @classmethod
    def beginning(cls, seconds: float) -> Lifetime:
        """Of a program that is let go now."""
        return cls(_boot(), time.time(), *_clocks(), seconds)

    def is_of_this_start(self) -> bool:
        """Whether the machine was not started again since: processes have their numbers still."""
        return self.boot == _boot()

    def over(self) -> float:
        """The time of day after which it cannot have run: what came to be later is not its own."""
        since_boot, awake = _clocks()
        if not self.is_of_this_start():
            return time.time() - since_boot + _MARGIN
        asleep = (since_boot - awake) - (self.since_boot - self.awake)
        # Where somebody set the time of day meanwhile, the later one counts.
        begun = max(self.begun, time.time() - (since_boot - self.since_boot))
        return begun + self.seconds + asleep + _MARGIN


def started(process: int) -> int | None:
    """When a process was started, which tells it from a later one of its number; None: it is not there.

    Raises:
        OSError: That cannot be told now.
    """
    try:
        told = Path("/proc", str(process), "stat").read_text(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    return int(told.rpartition(")")[2].split()[_START])


def await_end(process: int, start: int) -> bool:
    """Wait until a first process, which ends with its Callgate, and so all that is in its sandbox is gone.

    Returns:
        Whether it is: it may hang at a disk that does not answer.

    Raises:
        OSError: That cannot be told now.
    """
    try:
        handle = os.pidfd_open(process)
    except ProcessLookupError:
        return True
    try:
        return started(process) != start or bool(news_of(handle)(_DYING_SECONDS * 1000))
    finally:
        os.close(handle)


def _clocks() -> tuple[float, float]:
    return time.clock_gettime(time.CLOCK_BOOTTIME), time.clock_gettime(time.CLOCK_MONOTONIC)


def _boot() -> str:
    return _BOOT.read_text().strip()
