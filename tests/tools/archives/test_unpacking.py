"""Members of a zip file come out whole, wherever the pieces end in which they are read and unpacked."""

from __future__ import annotations

import lzma
import random
import struct
import zipfile
import zlib
from pathlib import Path

import pytest

from callgate.tools.archives import unpacking
from callgate.tools.archives.pouring import CHUNK
from tests.tools.archives.building import CENTRAL, LOCAL, patched, zipped
from tests.tools.archives.test_bombs import lying_zip
from tests.tools.files.calling import call, opened

_NO_BLOCK = b"\0\0\0\xff\xff"
"""Of deflate: nothing comes of it."""
_PACKINGS = {"deflate": zipfile.ZIP_DEFLATED, "bzip2": zipfile.ZIP_BZIP2, "lzma": zipfile.ZIP_LZMA}


def _filling_its_pieces() -> tuple[bytes, bytes]:
    """(packed, content): the first piece of the packed bytes gives two full pieces of content, and more follows."""
    for size in range(CHUNK - 1000, CHUNK):
        content = random.Random(size).randbytes(size).ljust(2 * CHUNK, b"\0")
        packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
        packed = packer.compress(content) + packer.flush(zlib.Z_FULL_FLUSH)
        blocks, odd = divmod(CHUNK - len(packed), len(_NO_BLOCK))
        if blocks >= 0 and not odd:
            further = content[:CHUNK]
            return packed + blocks * _NO_BLOCK + packer.compress(further) + packer.flush(), content + further
    raise AssertionError


def _with_checksum(name: str, packed: bytes, content: bytes, *, method: int) -> bytes:
    made = lying_zip(name, packed, says=len(content), method=method)
    checksum = struct.pack("<L", zlib.crc32(content))
    return patched(patched(made, LOCAL, 14, checksum), CENTRAL, 16, checksum)


async def _unpacked(folder: Path, archive: bytes) -> bytes:
    (folder / "a.zip").write_bytes(archive)
    async with opened(folder, "archives") as gate:
        assert (await call(gate, "archive_open", path="a.zip")).unwrap()["total_files"] == 1
        stored = (await call(gate, "archive_extract")).unwrap()["stored_in"]
    return _only(Path(stored))


def _only(folder: Path) -> bytes:
    [file] = folder.iterdir()
    return file.read_bytes()


@pytest.mark.parametrize("name", ["a.bin", "inner.zip"])
async def test_a_piece_that_fills_the_room_for_what_comes_of_it_is_not_the_last(tmp_path: Path, name: str) -> None:
    """Also of what is looked into as an archive when the one around it is opened."""
    packed, content = _filling_its_pieces()
    archive = _with_checksum(name, packed, content, method=zipfile.ZIP_DEFLATED)
    assert await _unpacked(tmp_path, archive) == content


@pytest.mark.parametrize(("dictionary", "is_read"), [(64 * 1024 * 1024, True), (64 * 1024 * 1024 + 1, False)])
async def test_lzma_may_take_64_mib(tmp_path: Path, dictionary: int, *, is_read: bool) -> None:
    options = {"id": lzma.FILTER_LZMA1, "dict_size": 4096, "lc": 3, "lp": 0, "pb": 2}
    head = struct.pack("<2BHBL", 9, 20, 5, 0x5D, dictionary)
    packed = head + lzma.compress(b"some text", lzma.FORMAT_RAW, filters=[options])
    (tmp_path / "a.zip").write_bytes(_with_checksum("a.txt", packed, b"some text", method=zipfile.ZIP_LZMA))
    async with opened(tmp_path, "archives") as gate:
        assert (await call(gate, "archive_open", path="a.zip")).ok
        outcome = await call(gate, "archive_file", filename="a.txt")
    assert outcome.ok is is_read
    assert ("some text" if is_read else "takes more than") in str(outcome.output if is_read else outcome)


@pytest.mark.parametrize("packing", _PACKINGS)
@pytest.mark.parametrize("size", [10, 64])
async def test_members_are_read_in_whatever_pieces_they_come(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, packing: str, size: int
) -> None:
    content = b"".join(bytes([letter]) * 5 for letter in range(256)) + bytes(500)
    archive = zipped({"a.bin": content}, packing=_PACKINGS[packing])
    monkeypatch.setattr(unpacking, "CHUNK", size)
    assert await _unpacked(tmp_path, archive) == content
