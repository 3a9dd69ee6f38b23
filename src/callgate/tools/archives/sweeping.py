"""Sweeping: what an extraction that was killed left behind is removed by the next one in that directory.

An extraction holds a lock on its hidden directory for as long as it lives; the system lets go of it with the process.
So a directory that can be locked has no owner any more, whatever number his process had.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import secrets
import shutil
from collections.abc import Generator

from callgate.tools.confined import Confined, Held

_PREFIX = ".callgate-unpacking-"
_NAME = re.compile(re.escape(_PREFIX) + r"[0-9a-f]{16}")
_TRIES = 10


@contextlib.contextmanager
def new_stage(confined: Confined, folder: Held) -> Generator[str]:
    """Make a hidden directory that is locked while it is used; its name.

    Raises:
        OSError: It cannot be made.
    """
    with contextlib.ExitStack() as stack:
        name = next(filter(None, (_new(confined, folder, stack=stack) for _ in range(_TRIES))), None)
        if name is None:
            raise FileExistsError("what is made for unpacking is removed again and again; try later")
        yield name


def _new(confined: Confined, folder: Held, *, stack: contextlib.ExitStack) -> str | None:
    """Until it is locked, another extraction may take it for one that was left, and remove it: then none was made."""
    name = f"{_PREFIX}{secrets.token_hex(8)}"
    os.mkdir(name, dir_fd=folder.fd)
    try:
        held = stack.enter_context(confined.directory_at(folder, name))
        return name if _lock(held) is not False and _is_same(folder, name, held=held) else None
    except FileNotFoundError:
        return None


def sweep(confined: Confined, folder: Held) -> None:
    """Remove the hidden directories of extractions that are no more; what cannot be removed stays."""
    for name in filter(_NAME.fullmatch, os.listdir(folder.fd)):  # noqa: PTH208 - by handle
        with contextlib.suppress(OSError), confined.directory_at(folder, name) as held:
            if _lock(held):
                shutil.rmtree(name, ignore_errors=True, dir_fd=folder.fd)


def _lock(held: Held) -> bool | None:
    """Whether it is ours now; None where the file system has no locks, and nobody can know."""
    try:
        fcntl.flock(held.fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def _is_same(folder: Held, name: str, *, held: Held) -> bool:
    status = os.stat(name, dir_fd=folder.fd, follow_symlinks=False)
    return os.path.samestat(status, held.status)
