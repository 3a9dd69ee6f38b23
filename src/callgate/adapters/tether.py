"""Tether: what ties a process that we started to us, so that the kernel ends it when we are gone, however that came.

A pipe of which the process has the reading end and we alone the writing one. Whoever has that one says nothing, so
that the only thing that can happen there is its end; and the kernel is told to kill the process when something happens.
It needs nothing of the program that is started, not even a turn of it. The other way (to ask to be killed with one's
parent) means the thread that started it, and threads come and go. Linux only: elsewhere nothing is tied.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import subprocess
import weakref
from typing import Self

_CLOSED = -1
_CAN_TIE = hasattr(fcntl, "F_SETSIG")


class Tether:
    """One process's; that is over when this is left, at the latest."""

    def __init__(self) -> None:
        self._theirs, self._ours = os.pipe()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._close_theirs()
        ours, self._ours = self._ours, _CLOSED
        if ours != _CLOSED:
            os.close(ours)

    @property
    def handles(self) -> tuple[int, ...]:
        """What the process has to be started with."""
        return (self._theirs,) if _CAN_TIE else ()

    def be_inherited(self) -> None:
        """Give it to whatever is started until it is tied: for a library that cannot be told to."""
        os.set_inheritable(self._theirs, True)  # noqa: FBT003 - its only way

    def tie(self, pid: int) -> None:
        """Have a process killed with us. To one that is over already nothing happens."""
        if _CAN_TIE:
            fcntl.fcntl(self._theirs, fcntl.F_SETSIG, signal.SIGKILL)
            with contextlib.suppress(ProcessLookupError):
                fcntl.fcntl(self._theirs, fcntl.F_SETOWN, pid)
            fcntl.fcntl(self._theirs, fcntl.F_SETFL, fcntl.fcntl(self._theirs, fcntl.F_GETFL) | os.O_ASYNC)
        self._close_theirs()

    def tie_for_good(self, process: subprocess.Popen[bytes]) -> None:
        """`tie`, and be left when nobody knows the process any more."""
        self.tie(process.pid)
        weakref.finalize(process, self.__exit__)

    def _close_theirs(self) -> None:
        theirs, self._theirs = self._theirs, _CLOSED
        if theirs != _CLOSED:
            os.close(theirs)
