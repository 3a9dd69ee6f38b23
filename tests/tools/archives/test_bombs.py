"""Members that say little and hold much: refused while they are unpacked, before they fill the memory."""

from __future__ import annotations

import bz2
import lzma
import struct
import subprocess
import sys
import tracemalloc
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.tools.files.calling import call, opened

_MIB = 1024 * 1024
# What a process may take more is bounded by the system: who unpacks it all fails, whatever is counted.
_PROGRAM = """
import asyncio, resource, sys
from callgate import Callgate, Context
async def main():
    async with Callgate.open("memory://", working_directory=sys.argv[1], builtin_tools=["archives"]) as gate:
        who = Context(autonomy="A4")
        await gate.call("archive_open", {"path": "nothing.zip"}, who)
        pages = int(open("/proc/self/statm").read().split()[0])
        most = pages * resource.getpagesize() + (200 << 20)
        resource.setrlimit(resource.RLIMIT_AS, (most, -1))
        outcome = await gate.call("archive_open", {"path": "a.bin"}, who)
        if outcome.ok:
            outcome = await gate.call("archive_file", {"filename": sys.argv[2]}, who)
        print(outcome.error.category.value, outcome.error.message)
asyncio.run(main())
"""


def _told(folder: Path, name: str = "a.txt") -> str:
    command = [sys.executable, "-c", _PROGRAM, str(folder), name]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout, done.stderr[-1500:]
    return done.stdout


def _packed(packer: Any, head: bytes = b"") -> bytes:
    return b"".join([head, *(packer.compress(bytes(50 * _MIB)) for _ in range(6)), packer.flush()])


def _lzma() -> bytes:
    options = {"id": lzma.FILTER_LZMA1, "dict_size": _MIB, "lc": 3, "lp": 0, "pb": 2}
    packer = lzma.LZMACompressor(lzma.FORMAT_RAW, filters=[options])
    return _packed(packer, struct.pack("<2BHBL", 9, 20, 5, 0x5D, _MIB))


def _large_dictionary() -> bytes:
    return struct.pack("<2BHBL", 9, 20, 5, 0x5D, 0xFFFFFFFF) + bytes(100)


def lying_zip(name: str, packed: bytes, *, says: int, method: int) -> bytes:
    """A zip file with one member of which both tables say another size."""
    raw = name.encode()
    sizes = (0, len(packed), says, len(raw))
    local = struct.pack("<4s5H3L2H", b"PK\3\4", 46, 0, method, 0, 33, *sizes, 0) + raw + packed
    table = struct.pack("<4s6H3L5H2L", b"PK\1\2", 46, 46, 0, method, 0, 33, *sizes, 0, 0, 0, 0, 0, 0) + raw
    return local + table + struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 1, 1, len(table), len(local), 0)


ZIPS: dict[str, tuple[int, Callable[[], bytes], str]] = {
    "bzip2": (zipfile.ZIP_BZIP2, lambda: _packed(bz2.BZ2Compressor(9)), "holds more"),
    "deflate": (zipfile.ZIP_DEFLATED, lambda: _packed(zlib.compressobj(9, zlib.DEFLATED, -15)), "holds more"),
    "lzma": (zipfile.ZIP_LZMA, _lzma, "holds more"),
    "lzma-dictionary": (zipfile.ZIP_LZMA, _large_dictionary, "packed with lzma"),
}


@pytest.mark.parametrize("name", ["a.txt", "inner.zip"])
@pytest.mark.parametrize("kind", ZIPS)
def test_a_member_of_a_zip_that_says_little(tmp_path: Path, kind: str, name: str) -> None:
    method, pack, said = ZIPS[kind]
    (tmp_path / "a.bin").write_bytes(lying_zip(name, pack(), says=1000, method=method))
    told = _told(tmp_path, name)
    assert told.startswith("user_input_error"), told
    assert said in told


async def test_a_table_of_many_entries_is_not_read_whatever_number_it_says(tmp_path: Path) -> None:
    entry = struct.pack("<4s6H3L5H2L", b"PK\1\2", 20, 20, 0, 0, 0, 33, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0) + b"a/"
    table = entry * (8 * _MIB // len(entry))
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 1, 1, len(table), 4, 0)
    (tmp_path / "a.zip").write_bytes(b"PK\3\4" + table + end)
    async with opened(tmp_path, "archives") as gate:
        await call(gate, "archive_open", path="nothing.zip")
        tracemalloc.start()
        try:
            outcome = await call(gate, "archive_open", path="a.zip")
            _, most = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert "more than 5000 entries" in str(outcome)
    assert most < 3 * len(table)


def _number(value: int) -> bytes:
    return b"\xff" + struct.pack("<Q", value)


def _seven(packed: bytes, header: bytes) -> bytes:
    start = struct.pack("<QQI", len(packed), len(header), zlib.crc32(header))
    return b"7z\xbc\xaf\x27\x1c\0\4" + struct.pack("<I", zlib.crc32(start)) + start + packed + header


def lying_7z(packed: bytes, coder: bytes, *, says: int, checksum: bytes = b"") -> bytes:
    """A 7z file with one member, a.txt, of which its header says another size."""
    names = b"\0" + "a.txt".encode("utf-16-le") + b"\0\0"
    header = b"\1\4\6" + _number(0) + b"\1\x09" + _number(len(packed)) + b"\0"
    header += b"\7\x0b\1\0" + b"\1" + coder + b"\x0c" + _number(says) + checksum + b"\0" + b"\x08\0" + b"\0"
    header += b"\5\1\x11" + _number(len(names)) + names + b"\0\0"
    return _seven(packed, header)


def seven_zip_of_nothing(files: int) -> bytes:
    """A 7z file whose packed header names so many empty files."""
    names = b"\0" + b"a\0\0\0" * files
    empty = b"\xff" * ((files + 7) // 8)
    header = b"\1\5" + _number(files) + b"\x0e" + _number(len(empty)) + empty
    header += b"\x11" + _number(len(names)) + names + b"\0\0"
    options = [{"id": lzma.FILTER_LZMA1, "dict_size": _MIB, "lc": 3, "lp": 0, "pb": 2}]
    packed = lzma.compress(header, lzma.FORMAT_RAW, filters=options)
    encoded = b"\x17\x06" + _number(0) + b"\1\x09" + _number(len(packed)) + b"\0"
    encoded += b"\x07\x0b\x01\x00" + b"\x01\x23\x03\x01\x01\x05\x5d" + struct.pack("<I", _MIB)
    encoded += b"\x0c" + _number(len(header)) + b"\x0a\x01" + struct.pack("<I", zlib.crc32(header)) + b"\0\0"
    return _seven(packed, encoded)


def _deflated_7z() -> bytes:
    return lying_7z(_packed(zlib.compressobj(9, zlib.DEFLATED, -15)), b"\3\4\1\x08", says=1000)


SEVENS: dict[str, tuple[Callable[[], bytes], str]] = {
    "deflate": (_deflated_7z, "another way than LZMA"),
    "without-a-checksum": (lambda: lying_7z(b"x" * 1000, b"\1\0", says=1000), "no checksum"),
    "other-checksum": (lambda: lying_7z(b"x" * 9, b"\1\0", says=9, checksum=b"\x0a\1abcd"), "CrcError"),
    "many-entries": (lambda: seven_zip_of_nothing(400_000), "entries"),
    "far-too-many-entries": (lambda: seven_zip_of_nothing(8_000_000), "memory"),
}


@pytest.mark.parametrize("kind", SEVENS)
def test_a_7z_that_says_little(tmp_path: Path, kind: str) -> None:
    make, said = SEVENS[kind]
    (tmp_path / "a.bin").write_bytes(make())
    told = _told(tmp_path)
    assert told.startswith("user_input_error"), told
    assert said in told
