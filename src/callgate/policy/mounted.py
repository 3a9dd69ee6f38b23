"""Mounted: the table of mounts as it is now. Asking again costs next to nothing where nothing was mounted since."""

from __future__ import annotations

import contextlib
import os
import re
import select
import threading
from collections.abc import Iterator

from callgate.policy.mount_table import MountTable, read

_TABLE = "/proc/self/mountinfo"
_PROCESSES = "/proc/self"
_CHUNK = 65_536
_NUMBER = re.compile(rb"^mnt_id:\s*(\d+)", re.MULTILINE)


class Mounted:
    """One reader of the table, which stays open: the kernel says on it when something was mounted."""

    def __init__(self, path: str = _TABLE) -> None:
        self._path = path
        self._turn = threading.Lock()
        self._handle: int | None = None
        self._said: bytes | None = None
        self._table = MountTable()

    def now(self) -> MountTable:
        """The table; the same object as long as it says the same.

        It is empty where the system has none, as one that is not Linux, or a container without /proc: a path has one
        name to us there. One that is there and cannot be read says nothing of what is mounted, and is never empty.

        Raises:
            OSError: It cannot be seen.
        """
        with self._turn:
            if self._said is None or not self._table.lasts or self._has_changed():
                self._look()
            return self._table

    def forget(self) -> None:
        """Begin anew, in a child: on the handle that it shares with its parent each would take the other's news."""
        if self._handle is not None:
            os.close(self._handle)
        self._handle = self._said = None
        self._turn = threading.Lock()

    def _has_changed(self) -> bool:
        if self._handle is None:
            return False
        changes = select.poll()
        changes.register(self._handle, select.POLLPRI)
        return bool(changes.poll(0))

    def _look(self) -> None:
        # The kernel tells its news once: what cannot be seen now has to be looked at again.
        before, self._said = self._said, None
        said = self._read()
        if said != before:
            self._table = MountTable(read(said), top=_top() if said else "", processes=_devices_of_processes())
        self._said = said

    def _read(self) -> bytes:
        if self._handle is None:
            try:
                self._handle = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
            except FileNotFoundError:
                return b""
        os.lseek(self._handle, 0, os.SEEK_SET)
        return _all_of(self._handle)


def mounted() -> MountTable:
    """What is mounted.

    Raises:
        OSError: It cannot be seen.
    """
    return _here.now()


_here = Mounted()
os.register_at_fork(after_in_child=_here.forget)


def _all_of(handle: int) -> bytes:
    said = bytearray()
    while part := os.read(handle, _CHUNK):
        said += part
    return bytes(said)


def _top() -> str:
    """The number of the mount that the top directory lies in."""
    handle = os.open("/", os.O_PATH | os.O_CLOEXEC)
    try:
        with open(f"/proc/self/fdinfo/{handle}", "rb") as file:  # noqa: PTH123 - as below
            found = _NUMBER.search(file.read())
    finally:
        os.close(handle)
    return found[1].decode() if found else ""


def _devices_of_processes() -> Iterator[int]:
    with contextlib.suppress(OSError):
        yield os.stat(_PROCESSES).st_dev  # noqa: PTH116 - a text all along
