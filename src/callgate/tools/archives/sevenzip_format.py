"""7z, by py7zr: what its header says, and its members poured out without touching the disk.

What a packed stream holds beyond what the header says of it is never unpacked, and checksums tell a shifted border.
"""

from __future__ import annotations

import stat
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from callgate.tools.archives.limits import LARGEST_TOTAL, MOST_ENTRIES, Hostile, LibraryMissing, parsing, refuse_ratio
from callgate.tools.archives.members import Member, member
from callgate.tools.archives.pouring import Into, Sink

if TYPE_CHECKING:
    from py7zr import SevenZipFile

_TOP = "/"
"""Names are made from here on, so that no link of the working directory is taken for part of one."""


class SevenZipArchive:
    """A 7z file whose header was read."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        self._file = file
        archive = self._open()
        with parsing("the 7z archive"):
            if archive.needs_password():
                raise Hostile("the 7z archive is encrypted")
            entries: list[Any] = list(archive.files)
            if len(entries) > MOST_ENTRIES:
                raise Hostile(f"the 7z archive has more than {MOST_ENTRIES} entries")
            self.members = tuple(map(_member, entries))
        refuse_ratio(sum(each.size for each in self.members), size, what="the 7z archive")

    def pour(self, wanted: Collection[Member], into: Into) -> None:
        files = {each.raw: each for each in wanted if not each.is_directory}
        if not files:
            return
        factory = _factory({f"{_TOP}{each.name}": each for each in files.values()}, into)
        archive = self._open()
        with parsing("the 7z archive"):
            archive.extract(path=_TOP, targets=list(files), factory=factory)
        factory.refuse_missing()

    def _open(self) -> SevenZipFile:
        # A fresh one each time: it reads from its beginning to its end, once.
        try:
            import py7zr  # noqa: PLC0415 - an extra
        except ImportError:
            raise LibraryMissing("7z archives need py7zr; install with: pip install 'callgate[archives]'") from None
        self._file.seek(0)
        with parsing("the 7z archive"):
            return py7zr.SevenZipFile(cast("Any", self._file), max_extract_size=LARGEST_TOTAL)


def _member(entry: Any) -> Member:
    found = member(entry.filename, entry.uncompressed, is_directory=entry.is_directory)
    plain = {0, stat.S_IFDIR if found.is_directory else stat.S_IFREG}
    if entry.is_symlink or entry.is_junction or entry.is_socket or (entry.st_fmt or 0) not in plain:
        raise Hostile(f"member {found.name!r} is a link or a device")
    return found


def _factory(files: dict[str, Member], into: Into) -> Any:
    """What py7zr asks for a writer of each member. Its own base classes are looked for, and only known with it."""
    from py7zr.io import Py7zIO, WriterFactory  # noqa: PLC0415 - an extra

    return type("Factory", (_Factory, WriterFactory), {})(files, into, type("Writer", (_Writer, Py7zIO), {}))


class _Writer:
    """What py7zr writes a member to."""

    def __init__(self, sink: Sink, done: Callable[[], None]) -> None:
        self._sink = sink
        self._done = done
        self._whole = True

    def write(self, s: bytes | bytearray) -> int:
        self._whole = False  # closed before this is over, it was not all
        self._sink.write(bytes(s))
        self._whole = True
        return len(s)

    def read(self, size: int | None = None) -> bytes:
        del size
        return b""

    def seek(self, offset: int, whence: int = 0) -> int:
        del offset, whence
        return 0

    def flush(self) -> None:
        """Nothing is held back."""

    def size(self) -> int:
        return self._sink.member.size

    def close(self) -> None:
        if self._whole:
            self._sink.end()
            self._done()


class _Factory:
    """Makes one for each member that is wanted."""

    def __init__(self, files: dict[str, Member], into: Into, writer: Any) -> None:  # noqa: PLR0917 - made in one place
        self._files = files
        self._into = into
        self._writer = writer

    def create(self, filename: str) -> Any:
        return self._writer(self._into(self._files[filename]), lambda: self._files.pop(filename))

    def refuse_missing(self) -> None:
        if self._files:
            raise Hostile("the 7z archive does not hold what it says")
