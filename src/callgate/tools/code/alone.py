"""Alone: one program at a time, among all Callgates of a user.

What a program may touch is looked at and put together before it starts. A second program could meanwhile put a link
where a directory was, and have the first one led out of what is granted. So the second waits.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
from collections.abc import AsyncGenerator

from callgate.model.pauses import pauses
from callgate.secrets.root_keys import config_folder


@contextlib.asynccontextmanager
async def alone() -> AsyncGenerator[None]:
    """Wait until no other program runs, and keep others waiting; a Callgate that is killed lets go."""
    folder = config_folder()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle = os.open(folder / "programs.lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        for pause in pauses(0.002, 0.05):
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            await asyncio.sleep(pause)
        yield
    finally:
        os.close(handle)
