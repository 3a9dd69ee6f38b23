"""Turns: one writer at a time in a directory, who reads a file and puts another in its place, or any number of readers.

A turn is a lock on the directory, held by its handle: it counts for all threads and all processes that write by
these tools, and is gone with whoever held it. Programs that do not ask for it are not kept out.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import time
from collections.abc import Generator

from callgate.model.tool_context import ToolContext
from callgate.tools.confined import Held

_LONGEST_WAIT = 10.0
_PAUSE = 0.002
_TAKEN = frozenset({errno.EAGAIN, errno.EACCES})


def one_writer(folder: Held, ctx: ToolContext) -> contextlib.AbstractContextManager[bool]:
    """Have a turn alone in a directory that is held; whether it is one: not every file system knows turns.

    Raises:
        TimeoutError: Others had theirs for too long.
    """
    return _turn(folder, ctx, alone=True)


def many_readers(folder: Held, ctx: ToolContext) -> contextlib.AbstractContextManager[bool]:
    """Have a turn together with others who only read.

    Raises:
        TimeoutError: Somebody wrote for too long.
    """
    return _turn(folder, ctx, alone=False)


@contextlib.contextmanager
def _turn(folder: Held, ctx: ToolContext, *, alone: bool) -> Generator[bool]:
    until = time.monotonic() + _LONGEST_WAIT
    while (taken := _taken(folder.fd, alone=alone)) is False:
        if _is_over(ctx, until):
            raise _too_long(folder)
        time.sleep(_PAUSE)  # a lock that is waited for could not be given up
    try:
        if _is_over(ctx, until):  # It was given back meanwhile, and nobody waits for us any more.
            raise _too_long(folder)
        yield taken is True
    finally:
        _give(folder.fd)


def _is_over(ctx: ToolContext, until: float) -> bool:
    now = time.monotonic()
    return now > until or ctx.closed or ctx.remaining(now) == 0


def _too_long(folder: Held) -> TimeoutError:
    return TimeoutError(f"others are writing in {folder.place} for too long; nothing was done")


def _taken(fd: int, *, alone: bool) -> bool | None:
    """None where there are no locks: that leaves us with what is compared before the file is replaced."""
    try:
        fcntl.flock(fd, (fcntl.LOCK_EX if alone else fcntl.LOCK_SH) | fcntl.LOCK_NB)
    except OSError as error:
        return False if error.errno in _TAKEN else None
    return True


def _give(fd: int) -> None:
    with contextlib.suppress(OSError):
        fcntl.flock(fd, fcntl.LOCK_UN)
