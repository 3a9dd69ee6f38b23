"""7z: what its header says, and its members poured out without touching the disk, by a process that may fail.

Only methods that unpack in bounded steps are taken, and every member needs a checksum: it tells a shifted border.
"""

from __future__ import annotations

import contextlib
import json
import zlib
from collections.abc import Collection
from typing import Any

from callgate.tools.archives.copied import Source
from callgate.tools.archives.limits import Hostile, LibraryMissing, refuse_ratio
from callgate.tools.archives.members import Member, member
from callgate.tools.archives.pouring import Into, Sink
from callgate.tools.archives.sevenzip_process import ask
from callgate.tools.archives.sevenzip_worker import DATA, ENDED, STARTED
from callgate.tools.libraries import find_library


class SevenZipArchive:
    """A 7z file whose header was read."""

    def __init__(self, file: Source, size: int) -> None:
        if find_library("py7zr") is None:
            raise LibraryMissing("7z archives need py7zr; install with: pip install 'callgate[archives]'")
        self._file = file
        entries = _entries(file)
        self.members = tuple(map(_member, entries))
        self._checksums = {entry["name"]: entry["checksum"] for entry in entries}
        refuse_ratio(sum(each.size for each in self.members), size, what="the 7z archive")

    def pour(self, wanted: Collection[Member], into: Into) -> None:
        files = {each.name: each for each in wanted if not each.is_directory}
        if not files:
            return
        pouring: _Pouring | None = None
        with contextlib.closing(ask(self._file, [each.raw for each in files.values()])) as records:
            for kind, data in records:
                if kind == STARTED:
                    found = _taken(files, data.decode())
                    pouring = _Pouring(into(found), self._checksums[found.raw])
                elif pouring is None:
                    raise Hostile("the 7z archive does not hold what it says")
                elif kind == DATA:
                    pouring.write(data)
                elif kind == ENDED:
                    pouring.end()
        if files:
            raise Hostile("the 7z archive does not hold what it says")


class _Pouring:
    """One member on its way."""

    def __init__(self, sink: Sink, checksum: int | None) -> None:
        self._sink = sink
        self._told = checksum or 0
        self._seen = 0

    def write(self, data: bytes) -> None:
        self._sink.write(data)
        self._seen = zlib.crc32(data, self._seen)

    def end(self) -> None:
        if self._seen != self._told:
            raise Hostile(f"member {self._sink.member.name!r} has another checksum than the archive says")
        self._sink.end()


def _taken(files: dict[str, Member], name: str) -> Member:
    try:
        return files.pop(name)
    except KeyError:
        raise Hostile("the 7z archive does not hold what it says") from None


def _entries(file: Source) -> list[dict[str, Any]]:
    with contextlib.closing(ask(file, None)) as records:
        return [entry for _, data in records for entry in json.loads(data)]


def _member(entry: dict[str, Any]) -> Member:
    found = member(entry["name"], entry["size"], is_directory=entry["is_directory"])
    if entry["special"]:
        raise Hostile(f"member {found.name!r} is a link or a device")
    if found.size and entry["checksum"] is None:
        raise Hostile(f"member {found.name!r} has no checksum")
    return found
