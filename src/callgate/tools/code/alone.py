"""Alone: one program at a time, among all Callgates of a user.

What a program may touch is looked at and put together before it starts. A second program could meanwhile put a link
where a directory was, and have the first one led out of what is granted. So the second waits.

The lock is a name among the kernel's own (an abstract socket): nothing in the environment says where it lies, no folder
has to be there, no tool can move or delete it, and it is free as soon as its holder is gone.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import socket
import struct
import time
from collections.abc import AsyncGenerator

from callgate.errors import NoEffect
from callgate.model.pauses import pauses
from callgate.ports.unshared import socket_unshared

NAME = "\0callgate-programs-of-user-{}"
_CREDENTIALS = struct.Struct("iII")


class AnotherRuns(NoEffect, TimeoutError):
    """Another program ran for as long as could be waited: nothing was done, and the same call may go through later."""


@contextlib.asynccontextmanager
async def alone(*, until: float | None = None) -> AsyncGenerator[None]:
    """Wait until no other program runs, and keep others waiting; a Callgate that is killed lets go.

    Args:
        until: The `time.monotonic()` at which waiting is given up; None waits for as long as it takes.

    Raises:
        AnotherRuns: One still runs then: nothing is run.
        NoEffect: Another user has taken the name: nothing is run.
    """
    name = NAME.format(os.geteuid())
    # A child that is forked meanwhile does not hold it as well: it may live much longer than the call.
    with socket_unshared() as lock:
        for pause in pauses(0.002, 0.05):
            if _taken_by_us(lock, name):
                break
            _refuse_another_users(name)
            if until is not None and time.monotonic() >= until:
                raise AnotherRuns("another program runs, and they run one at a time; nothing was done, call again")
            await asyncio.sleep(pause)
        yield


def _taken_by_us(lock: socket.socket, name: str) -> bool:
    try:
        lock.bind(name)
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            raise
        return False
    # Nobody is ever answered: who asks is told by the kernel whose it is.
    lock.listen()
    return True


def _refuse_another_users(name: str) -> None:
    with socket.socket(socket.AF_UNIX) as asking:
        asking.settimeout(0)
        try:
            asking.connect(name)
            told = asking.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
        except OSError:
            # It is free again, or too many have asked: who cannot tell waits.
            return
    _, user, _ = _CREDENTIALS.unpack(told)
    if user != os.geteuid():
        what = (
            f"user {user} has taken the lock ({name[1:]!r}) by which programs of user {os.geteuid()} run one at a time"
        )
        raise NoEffect(f"{what}, so nothing was run; end the process that holds it")
