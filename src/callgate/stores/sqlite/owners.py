"""Who is alive: each opened store holds an OS lock on a file of its own. Knows no row of the store."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path

from callgate.errors import StoreError
from callgate.ports.unshared import close_unshared, open_unshared
from callgate.stores.sqlite import locks

_OWNER = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class Owners:
    """The lock files beside one database, `<db>.owners/<owner>`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._handle: int | None = None
        self._owner = ""

    def take(self, owner: str) -> None:
        """Be that owner until `release` or the end of the process.

        Raises:
            StoreError: The file system does not let us lock.
        """
        new = self._folder / f"{owner}.new"
        try:
            self._folder.mkdir(mode=0o700, exist_ok=True)
            handle = open_unshared(new, os.O_RDWR | os.O_CREAT | os.O_EXCL)
            try:
                if not locks.take(handle):
                    raise BlockingIOError("somebody has it")  # noqa: TRY301 - told like any other failure to lock
                # It gets its name when it is locked: nobody ever sees it free while we live.
                new.rename(self._folder / owner)
            except BaseException:
                close_unshared(handle)
                raise
        except OSError as error:
            raise StoreError(f"{self._folder}: cannot lock the store's owner file: {error}") from error
        self._handle, self._owner = handle, owner

    def alive(self, owner: str) -> bool:
        """Whether that owner still holds its lock; True when it cannot be told.

        A missing file means gone: it was there before the owner's first row, and is removed only when the owner
        closed in good order or was forgotten.
        """
        if owner == self._owner or not _OWNER.fullmatch(owner):
            return True
        try:
            handle = os.open(self._folder / owner, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
        except FileNotFoundError:
            return False
        except OSError:
            return True
        try:
            return not locks.probe(handle)
        except OSError:
            return True
        finally:
            os.close(handle)

    @property
    def handles(self) -> tuple[int, ...]:
        """The lock's; a process that gets it keeps us alive, as the lock is let go when the last one closes it."""
        return () if self._handle is None else (self._handle,)

    def gone(self) -> list[str]:
        """Owners whose files are left and who are not there any more."""
        try:
            names = os.listdir(self._folder)  # noqa: PTH208 - calls wait for it, and paths cost more than names
        except OSError:
            return []
        return [name for name in names if not self.alive(name)]

    def forget(self, owner: str) -> None:
        """Remove a gone owner's file, once its rows are dealt with. A living one's stays."""
        if not self.alive(owner):
            with suppress(OSError):
                (self._folder / owner).unlink()

    def release(self, *, forget: bool) -> None:
        """Let go; with `forget`, leave no file behind."""
        if self._handle is None:
            return
        if forget:
            with suppress(OSError):
                (self._folder / self._owner).unlink()
        self.abandon()

    def abandon(self) -> None:
        """Close the lock's handle and nothing else: what a forked child does with its parent's."""
        if self._handle is not None:
            close_unshared(self._handle)
            self._handle = None
