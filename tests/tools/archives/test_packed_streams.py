"""A tar that is packed as several streams, one behind the other, is read as a whole, or refused. TOOL-13."""

from __future__ import annotations

import bz2
import gzip
import lzma
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from callgate.model.levels import Category
from callgate.tools.archives import packed_streams
from tests.tools.archives.building import tarred
from tests.tools.files.calling import call, opened

PACKERS: dict[str, Callable[[bytes], bytes]] = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}
BOTH = {"a.txt": b"first\n", "b.txt": b"second needle\n"}
TAR = tarred(BOTH)
HALF = 2 * tarfile.BLOCKSIZE
"""The first of the two, with its header."""
pytestmark = pytest.mark.parametrize("kind", PACKERS)


def streams(kind: str, *pieces: bytes, between: bytes = b"") -> bytes:
    return between.join(PACKERS[kind](piece) for piece in pieces)


def contents(folder: str) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in Path(folder).iterdir()}


async def refused(folder: Path, packed: bytes) -> str:
    (folder / "a.bin").write_bytes(packed)
    async with opened(folder, "archives") as gate:
        outcome = await call(gate, "archive_open", path="a.bin")
    assert outcome.error is not None
    assert outcome.error.category is Category.USER_INPUT
    return outcome.error.message


@pytest.mark.parametrize("between", [b"", bytes(4), bytes(200_000)])
@pytest.mark.parametrize("cuts", [(HALF,), (HALF - 10,), (1, 2, HALF), (0, 0, HALF, HALF)])
async def test_all_streams_are_read_and_zeros_between_them_are_passed_over(
    tmp_path: Path, kind: str, cuts: tuple[int, ...], between: bytes
) -> None:
    pieces = [TAR[begin:end] for begin, end in zip((0, *cuts), (*cuts, None), strict=True)]
    (tmp_path / "a.bin").write_bytes(streams(kind, *pieces, between=between) + between)
    async with opened(tmp_path, "archives") as gate:
        found = (await call(gate, "archive_open", path="a.bin")).unwrap()
        assert [each["name"] for each in found["files"]] == list(BOTH)
        [line] = (await call(gate, "archive_search", query="needle")).unwrap()
        assert line["match"] == "second needle"
        done = (await call(gate, "archive_extract")).unwrap()
    assert contents(done["stored_in"]) == BOTH


@pytest.mark.parametrize("size", [1, 7])
async def test_streams_are_read_in_whatever_pieces_they_come(
    tmp_path: Path, kind: str, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packed_streams, "_CHUNK", size)
    (tmp_path / "a.bin").write_bytes(streams(kind, TAR[:HALF], TAR[HALF:], between=bytes(12)) + bytes(5))
    async with opened(tmp_path, "archives") as gate:
        found = (await call(gate, "archive_open", path="a.bin")).unwrap()
    assert [each["name"] for each in found["files"]] == list(BOTH)


@pytest.mark.parametrize("behind", [b"no stream", b"\0\0\0\0x", b"x" * 100_000])
async def test_what_is_no_stream_behind_the_streams_is_an_error(tmp_path: Path, kind: str, behind: bytes) -> None:
    """With the end of the tar before it, and without, where what follows could be more of its members."""
    for packed in (streams(kind, TAR), streams(kind, TAR[:HALF])):
        assert "broken" in await refused(tmp_path, packed + behind)


async def test_a_further_stream_that_is_broken_is_an_error(tmp_path: Path, kind: str) -> None:
    further = streams(kind, TAR[HALF:])
    middle = len(further) // 2
    for broken in (further[:5], further[:-9], further[:middle] + b"\xff\xff\xff" + further[middle + 3 :]):
        assert "broken" in await refused(tmp_path, streams(kind, TAR[:HALF]) + broken)


async def test_a_second_archive_behind_the_first_is_an_error(tmp_path: Path, kind: str) -> None:
    """As `cat one.tar.xz two.tar.xz` makes it: tar itself reads the first of them only."""
    assert "broken in the middle" in await refused(tmp_path, streams(kind, TAR, tarred({"c.txt": b"third\n"})))


async def test_many_streams_that_hold_much_together_are_a_bomb(tmp_path: Path, kind: str) -> None:
    zeros = bytes(1024 * 1024)
    said = await refused(tmp_path, streams(kind, tarred({"a": b"x"}), *[zeros] * 30))
    assert "bomb" in said
