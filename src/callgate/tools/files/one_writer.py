"""One writer at a time in a directory: whoever reads a file and puts another in its place has a turn of its own.

The turn is a lock on the directory, held by its handle: it counts for all threads and all processes that write by
these tools, and is gone with whoever held it. Programs that do not ask for it are not kept out.
"""

from __future__ import annotations

import contextlib
import errno
import time
from collections.abc import Generator

from callgate.model.tool_context import ToolContext
from callgate.tools.confined import Held

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows, where no directory is held either
    fcntl = None

_LONGEST_WAIT = 10.0
_PAUSE = 0.002
_TAKEN = frozenset({errno.EAGAIN, errno.EACCES})


@contextlib.contextmanager
def one_writer(folder: Held, ctx: ToolContext) -> Generator[None]:
    """Have a turn in a directory that is held.

    Raises:
        TimeoutError: Others had theirs for too long.
    """
    until = time.monotonic() + _LONGEST_WAIT
    while not _taken(folder.fd):
        now = time.monotonic()
        if now > until or ctx.closed or ctx.remaining(now) == 0:
            raise TimeoutError(f"others are writing in {folder.place} for too long; nothing was written")
        time.sleep(_PAUSE)  # a lock that is waited for could not be given up
    try:
        yield
    finally:
        _give(folder.fd)


def _taken(fd: int) -> bool:
    if fcntl is None:  # pragma: no cover - Windows
        return True
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        # A file system without such locks leaves us with what is compared before the file is replaced.
        return error.errno not in _TAKEN
    return True


def _give(fd: int) -> None:
    if fcntl is not None:
        with contextlib.suppress(OSError):
            fcntl.flock(fd, fcntl.LOCK_UN)
