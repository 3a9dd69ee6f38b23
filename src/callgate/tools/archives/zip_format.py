"""Zip: its two tables have to agree, its members must not overlap, and none may hold more than it says."""

from __future__ import annotations

import stat
import struct
import zipfile
import zlib
from collections.abc import Collection
from typing import BinaryIO

from callgate.tools.archives.limits import MIB, MOST_ENTRIES, Hostile, TooMuch, parsing, refuse_member_ratio
from callgate.tools.archives.members import Member, member
from callgate.tools.archives.pouring import Into
from callgate.tools.archives.unpacking import unpacked

_END = struct.Struct("<4s4H2LH")
_END_MARK = b"PK\5\6"
_LOCATOR_SIZE = 20
_LOCATOR_MARK = b"PK\6\7"
_LONGEST_COMMENT = 65535
_LOCAL = struct.Struct("<4s2H3H3L2H")
_LOCAL_MARK = b"PK\3\4"
_ENTRY = struct.Struct("<28x3H12x")
"""Of the table of contents: how long its name and two more texts are, which follow it."""
_LARGEST_TABLE = 8 * MIB
_METHODS = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA})
_ENCRYPTED = 0x2041
_SIZES_LATER = 0x8
_UTF8 = 0x800
_SIZES_ELSEWHERE = 0xFFFFFFFF


class ZipArchive:
    """A zip file whose tables were compared."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        with parsing("the zip archive"):
            entries = _entries(file, size)
            self._file = file
            self._zip = zipfile.ZipFile(file)
            infos = self._zip.infolist()
            if len(infos) != entries:
                raise Hostile(f"the zip archive says that it has {entries} entries, and has {len(infos)}")
            self._starts: dict[str, int] = {}
            self._refuse_overlaps(infos)
            self._infos = {info.orig_filename: info for info in infos}
        if len(self._infos) < len(infos):
            raise Hostile("the archive has two members of one name")
        self.members = tuple(map(_member, infos))

    def pour(self, wanted: Collection[Member], into: Into) -> None:
        for each in wanted:
            info = self._infos[each.raw]
            sink = into(each)
            checksum = 0
            with parsing("the zip archive"):
                start = self._starts[each.raw]
                for data in unpacked(self._file, start, size=info.compress_size, method=info.compress_type):
                    sink.write(data)
                    checksum = zlib.crc32(data, checksum)
                if checksum != info.CRC:
                    raise Hostile(f"member {each.name!r} has another checksum than the archive says")
            sink.end()

    def _refuse_overlaps(self, infos: list[zipfile.ZipInfo]) -> None:
        end = 0
        for info in sorted(infos, key=lambda info: info.header_offset):
            if info.header_offset < end:
                raise TooMuch(f"member {info.filename!r} shares its bytes with another: a bomb")
            end = self._checked_end(info)
        if end > self._zip.start_dir:
            raise Hostile("a member reaches into the table of contents")

    def _checked_end(self, info: zipfile.ZipInfo) -> int:
        """Where a member ends, after its own header was compared with the table of contents."""
        self._file.seek(info.header_offset)
        mark, _, flags, method, _, _, crc, packed, size, name_size, extra_size = _LOCAL.unpack(
            self._file.read(_LOCAL.size)
        )
        name = self._file.read(name_size).decode("utf-8" if flags & _UTF8 else "cp437")
        told = (info.CRC, info.compress_size, info.file_size)
        agrees = bool(flags & _SIZES_LATER) or packed == _SIZES_ELSEWHERE or (crc, packed, size) == told
        same = (mark, name, method) == (_LOCAL_MARK, info.orig_filename, info.compress_type)
        if not agrees or not same or (flags ^ info.flag_bits) & _ENCRYPTED:
            raise Hostile(f"member {info.filename!r} says one thing in its own header and another in the table")
        start = info.header_offset + _LOCAL.size + name_size + extra_size
        self._starts[info.orig_filename] = start
        return start + info.compress_size


def _member(info: zipfile.ZipInfo) -> Member:
    found = member(info.orig_filename, info.file_size, is_directory=info.orig_filename.endswith("/"))
    if info.flag_bits & _ENCRYPTED:
        raise Hostile(f"member {found.name!r} is encrypted")
    if info.compress_type not in _METHODS:
        raise Hostile(f"member {found.name!r} is packed in a way that is not known")
    kind = stat.S_IFMT(info.external_attr >> 16)
    if kind not in {0, stat.S_IFDIR if found.is_directory else stat.S_IFREG} or (found.is_directory and found.size):
        raise Hostile(f"member {found.name!r} is a link or a device, or not what its name says")
    if info.compress_type == zipfile.ZIP_STORED and info.compress_size != info.file_size:
        raise Hostile(f"member {found.name!r} says another size than it has")
    refuse_member_ratio(info.file_size, info.compress_size, name=found.name)
    return found


def _entries(file: BinaryIO, size: int) -> int:
    """How many entries the end record says, where the reader finds it; before it reads a table that fills the memory.

    Raises:
        TooMuch: They are more than are taken, whether it says so or not.
    """
    start = max(0, size - _END.size - _LONGEST_COMMENT - _LOCATOR_SIZE)
    file.seek(start)
    tail = file.read(size - start)
    at = len(tail) - _END.size
    if not (tail[at:].startswith(_END_MARK) and tail.endswith(b"\0\0")):
        at = tail.rfind(_END_MARK)
    if at < 0:
        raise Hostile("the zip archive has no end")
    _, _, _, _, entries, table, _, _ = _END.unpack(tail[at : at + _END.size])
    if tail[max(0, at - _LOCATOR_SIZE) : at].startswith(_LOCATOR_MARK):
        raise Hostile("the zip archive is of the kind for more than 4 GiB, which is not opened")
    if max(entries, _counted(file, start + at, size=table)) > MOST_ENTRIES or table > _LARGEST_TABLE:
        raise TooMuch(f"the zip archive has more than {MOST_ENTRIES} entries")
    return entries


def _counted(file: BinaryIO, end: int, *, size: int) -> int:
    """How many entries the table has that ends here, by which the reader goes and not by their number; or too many."""
    file.seek(max(0, end - size))
    table = file.read(min(size, _LARGEST_TABLE))
    at = count = 0
    while count <= MOST_ENTRIES and at + _ENTRY.size <= len(table):
        at += _ENTRY.size + sum(_ENTRY.unpack_from(table, at))
        count += 1
    return count
