"""A process of its own that forks at a bad moment and ends; what it left alive is told on standard output."""

import asyncio
import os
import sqlite3
import sys
from collections.abc import Callable, Coroutine
from contextlib import closing
from pathlib import Path
from typing import Any

from callgate.events.anchor import AnchorFile
from callgate.ports import Checkpoint
from callgate.secrets.private_files import lock_beside
from callgate.stores.sqlite import SqliteStore, open_files
from tests.contracts.makers import HandClock
from tests.stores.child import say, try_to_write, wait_to_be_ended
from tests.waiting import until

CHECKPOINT = Checkpoint(id="c", time=1.0, stream="s", heads={}, key_id="k", signature=b"")


def fork() -> None:
    """Leave a child behind that lives on with everything it inherited."""
    ready, tell = os.pipe()
    child = os.fork()
    if not child:
        os.write(tell, b"x")
        wait_to_be_ended()
    os.read(ready, 1)
    say(str(child))


def fork_and_open(path: Path) -> None:
    """Have a child open the store as well."""
    child = os.fork()
    if not child:
        try_to_write(path, "child")
        os._exit(0)
    os.waitpid(child, 0)


async def while_the_store_opens(path: Path) -> str:
    """Somebody writes just then, so that it has its lock and is not open yet."""
    return await _while_it_opens(path, fork)


async def while_it_opens_and_open_it(path: Path) -> str:
    """The same, and the child opens it too, when it could be."""
    return await _while_it_opens(path, lambda: fork_and_open(path))


async def _while_it_opens(path: Path, then: Callable[[], None]) -> str:
    store = SqliteStore(path, clock=HandClock())
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        opening = asyncio.ensure_future(store.open())
        await until((path.with_name(f"{path.name}.owners") / store.owner).exists)
        await until(lambda: open_files.unless_open(path, lambda: False, otherwise=True))
        then()
        other.execute("ROLLBACK")
        await opening
    return store.owner


async def after_it_closed(path: Path) -> str:
    """A handler still ran when it did: the lock stays until the process ends."""
    store = SqliteStore(path, clock=HandClock())
    await store.open()
    await store.close(still_running=True)
    fork()
    return store.owner


async def while_an_anchor_is_written(path: Path) -> str:
    """In the middle of it, where the lock is held."""
    sync = os.fsync

    def fork_and_sync(handle: int) -> None:
        os.fsync = sync
        fork()
        sync(handle)

    os.fsync = fork_and_sync
    AnchorFile(path.parent, "s").record(CHECKPOINT)
    return ""


async def while_a_private_file_is_locked(path: Path) -> str:
    """As secrets and keys are, when they are written."""
    with lock_beside(path):
        fork()
    return ""


Moment = Callable[[Path], Coroutine[Any, Any, str]]
"""Tells whose lock it was."""
MOMENTS: dict[str, Moment] = {
    each.__name__: each
    for each in (
        while_the_store_opens,
        while_it_opens_and_open_it,
        after_it_closed,
        while_an_anchor_is_written,
        while_a_private_file_is_locked,
    )
}

if __name__ == "__main__":
    say(asyncio.run(MOMENTS[sys.argv[2]](Path(sys.argv[1]))))
    os._exit(0)
