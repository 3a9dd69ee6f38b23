"""One processor: while the event loop waits in place for a step, whoever hands the step on runs where the loop does.

A step wakes the interpreter, the interpreter a thread of its client, and that thread the loop. The system would give
each a processor that sleeps, and waking one takes longer than the step, above all where processors are virtual. The
loop's own is awake, and free for as long as the loop waits. Linux only: elsewhere nothing is moved.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from types import TracebackType

_CLIENTS_NAME = "tokio-rt-worker"
_LATE = 0.00006
"""Seconds of a step that somebody slept through: one among the wakeful takes less."""
_OFTEN = 16
"""So many more late steps than others, and they are kept on one processor."""
_NEVER = -1


class _Client:
    """The threads of the interpreters' client: begun with the first pool of a process, for all, and never ended."""

    def __init__(self) -> None:
        self._begun: dict[int, set[int]] = {}
        """With the processors that each began with."""
        self.at: int | None = None

    def open(self, enter: Callable[[], object]) -> None:
        before = _threads("self")
        enter()
        for thread in _threads("self") - before:
            with contextlib.suppress(OSError):  # any thread of the process may have begun just now, and be over
                self._begun[thread] = os.sched_getaffinity(thread)

    def threads(self) -> list[int]:
        return [thread for thread in self._begun if _name(thread) == _CLIENTS_NAME]

    def move(self, threads: list[int], processor: int | None) -> None:
        for thread in threads:
            _move([thread], self._begun[thread] if processor is None else {processor})
        self.at = processor


_client = _Client()


def open_pool(enter: Callable[[], object]) -> None:
    """Open a pool of interpreters, and know from then on which threads its client has."""
    if _linux():
        _client.open(enter)
    else:
        enter()


class OneProcessor:
    """An interpreter that follows whoever waits for it. To be entered around a step, by the thread that waits."""

    def __init__(self, interpreter: int, *, client: list[int], processors: set[int]) -> None:
        self._interpreter = sorted(_threads(str(interpreter)))
        self._threads = client
        self._processors = processors
        self._at: int | None = None
        self._mine: set[int] | None = None
        self._late = 0

    def __enter__(self) -> None:
        if self._late < _OFTEN:
            return
        here = _here()()
        only = {here}
        if here != self._at:
            _move(self._interpreter, only)
            self._at = here
        if here != _client.at:
            _client.move(self._threads, here)
        # Read each time: what a tool changed for its thread is not changed back.
        mine = os.sched_getaffinity(0)
        try:
            os.sched_setaffinity(0, only)
        except OSError:  # nobody may: everybody stays where the system puts them
            self._late = _NEVER
        else:
            self._mine = mine

    def __exit__(  # noqa: PLR0917 - the language's signature
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._mine is not None:
            os.sched_setaffinity(0, self._mine)
            self._mine = None

    def took(self, seconds: float) -> None:
        """A step took so long. Being moved has its cost, too, and where nobody sleeps nothing is gained by it."""
        if 0 <= self._late < _OFTEN:
            self._late = self._late + 1 if seconds > _LATE else max(0, self._late - 1)

    def end(self) -> None:
        """Let everybody run anywhere again; others that are near their own loop come back with their next step."""
        if self._at is not None:
            _move(self._interpreter, self._processors)
            _client.move(self._threads, None)
            self._at = None


def near(interpreter: int | None) -> OneProcessor | None:
    """What keeps this interpreter near; None where that cannot be done or would change nothing."""
    if interpreter is None or not _linux():
        return None
    client, processors = _client.threads(), os.sched_getaffinity(0)
    if not client or len(processors) == 1:
        return None
    return OneProcessor(interpreter, client=client, processors=processors)


def _move(threads: Iterable[int], processors: set[int]) -> None:
    for thread in threads:
        with contextlib.suppress(OSError):  # it ended meanwhile, or nobody may move it: it only takes longer then
            os.sched_setaffinity(thread, processors)


def _threads(process: str) -> set[int]:
    with contextlib.suppress(OSError):
        return {int(each.name) for each in Path(f"/proc/{process}/task").iterdir()}
    return set()


def _name(thread: int) -> str:
    with contextlib.suppress(OSError):
        return Path(f"/proc/self/task/{thread}/comm").read_text().strip()
    return ""


def _linux() -> bool:
    return sys.platform == "linux"


@cache
def _here() -> Callable[[], int]:
    """Which processor the calling thread is on; the interpreter's lock is kept, for it is one instruction."""
    return ctypes.PyDLL(None).sched_getcpu
