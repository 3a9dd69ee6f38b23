"""Hostile archives: each is refused, by every tool, before anything is written. The witness is the whole disk around.

TOOL-13: traversal, absolute paths, links, devices, names that collide, bombs and lying headers.
"""

from __future__ import annotations

import struct
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from callgate import Callgate
from callgate.model.outcome import Outcome
from callgate.tools.archives import examining, limits
from tests.tools.archives.building import (
    CENTRAL,
    END,
    HONEST,
    LOCAL,
    counting_wrong,
    link_mode,
    lying_size,
    overlapping,
    patched,
    seven_zipped,
    seven_zipped_encrypted,
    special,
    tarred,
    tarred_entries,
    with_large_end,
    with_method,
    xz_with_large_dictionary,
    zipped,
    zipped_entry,
)
from tests.tools.files.calling import call, opened
from tests.tools.swapping import swapping

MIB = 1024 * 1024


def _shorter(archive: Any) -> None:
    archive.header.main_streams.substreamsinfo.unpacksizes[0] -= 3


def _seven_link(archive: Any) -> None:
    archive.header.files_info.files[0]["attributes"] = 0x8000 | (0o120777 << 16)


def _seven_named(name: str) -> bytes:
    def change(archive: Any) -> None:
        archive.header.files_info.files[0]["filename"] = name

    return seven_zipped({"a.txt": b"x" * 10}, change)


def nested(levels: int) -> bytes:
    made = zipped({"a.txt": b"x"}, packing=zipfile.ZIP_STORED)
    for _ in range(levels):
        made = zipped({"inner.zip": made}, packing=zipfile.ZIP_STORED)
    return made


def _directory(name: str) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type = tarfile.DIRTYPE
    return info


def sparse() -> bytes:
    info = tarfile.TarInfo("holes")
    info.type = tarfile.GNUTYPE_SPARSE
    return tarred_entries([(info, b"")])


def long_header() -> bytes:
    info = tarfile.TarInfo("a.txt")
    info.pax_headers = {"comment": "x" * (2 * MIB)}
    return tarred_entries([(info, b"")])


def with_records(body: bytes, kind: bytes = tarfile.XHDTYPE) -> bytes:
    """A tar file with a file behind a pax header of this body."""
    head = tarfile.TarInfo("pax")
    head.type, head.size = kind, len(body)
    padding = bytes(-len(body) % tarfile.BLOCKSIZE)
    return head.tobuf(tarfile.USTAR_FORMAT) + body + padding + tarred({"a.txt": b"x"})


def record(keyword: bytes, value: bytes) -> bytes:
    """A record of a pax header that says how long it is."""
    rest = len(keyword) + len(value) + 3
    length = next(size for size in range(rest, rest + 20) if rest + len(str(size)) == size)
    return b"%d %s=%s\n" % (length, keyword, value)


HOSTILE: dict[str, Callable[[], bytes]] = {
    # Names
    "zip-climbing": lambda: zipped({"../escaped.txt": b"x"}),
    "zip-climbing-from-below": lambda: zipped({"a/../../escaped.txt": b"x"}),
    "zip-absolute": lambda: zipped({"/tmp/callgate-escaped.txt": b"x"}),
    "zip-drive": lambda: zipped({"C:escaped.txt": b"x"}),
    "zip-backslashes": lambda: zipped({"..\\..\\escaped.txt": b"x"}),
    "zip-control-letter": lambda: zipped({"a\x1b[2Jb": b"x"}),
    "zip-nul-in-name": lambda: zipped({"a.txtXevil": b"x"}).replace(b"a.txtX", b"a.txt\0"),
    "zip-long-name": lambda: zipped({"a" * 300: b"x"}),
    "tar-climbing": lambda: tarred({"../escaped.txt": b"x"}),
    "tar-absolute": lambda: tarred({"/tmp/callgate-escaped.txt": b"x"}),
    "7z-climbing": lambda: _seven_named("../../escaped.txt"),
    "7z-absolute": lambda: _seven_named("/tmp/callgate-escaped.txt"),
    "git-hook": lambda: zipped({".git/hooks/pre-commit": b"#!/bin/sh\n"}),
    # The same name twice
    "zip-twice": lambda: zipped({"a.txt": b"x", "b.txt": b"y"}).replace(b"b.txt", b"a.txt"),
    "zip-case": lambda: zipped({"a.txt": b"x", "A.TXT": b"y"}),
    "zip-unicode": lambda: zipped({"\ufb01le": b"x", "file": b"y"}),
    "zip-file-as-folder": lambda: zipped({"a": b"x", "a/b": b"y"}),
    "zip-folder-in-another-case": lambda: zipped({"Docs/a": b"x", "docs": b"y"}),
    "tar-twice": lambda: tarred_entries([(tarfile.TarInfo("a"), b""), (tarfile.TarInfo("a"), b"")]),
    # What is no file
    "zip-link": lambda: zipped_entry("a", b"/etc/passwd", mode=link_mode()),
    "zip-device": lambda: zipped_entry("a", mode=0o060644),
    "zip-pipe": lambda: zipped_entry("a", mode=0o010644),
    "tar-link": lambda: special("a", tarfile.SYMTYPE, "/etc/passwd"),
    "tar-hard-link": lambda: special("a", tarfile.LNKTYPE, "../callgate.yaml"),
    "tar-device": lambda: special("a", tarfile.CHRTYPE),
    "tar-block-device": lambda: special("a", tarfile.BLKTYPE),
    "tar-pipe": lambda: special("a", tarfile.FIFOTYPE),
    "tar-sparse": sparse,
    "7z-link": lambda: seven_zipped({"a": b"/etc/passwd"}, _seven_link),
    # Bombs
    "zip-ratio": lambda: zipped({"a": bytes(5 * MIB)}),
    "zip-ratio-among-others": lambda: zipped({"a": bytes(5 * MIB), "b": bytes(range(256)) * 1}),
    "zip-overlap": overlapping,
    "zip-files": lambda: zipped({f"{number}": b"" for number in range(1001)}),
    "zip-entries": lambda: zipped({f"{number}/": b"" for number in range(5001)}),
    "zip-entries-that-are-not-counted": lambda: counting_wrong(5001, said=1),
    "tar-entries": lambda: tarred_entries([(_directory(str(number)), b"") for number in range(5001)]),
    "tar-ratio": lambda: tarred({"a": bytes(30 * MIB)}, "gz"),
    "tar-ratio-bz2": lambda: tarred({"a": bytes(30 * MIB)}, "bz2"),
    "tar-ratio-xz": lambda: tarred({"a": bytes(30 * MIB)}, "xz"),
    "tar-files": lambda: tarred({f"{number}": b"" for number in range(1001)}),
    "tar-header": long_header,
    "xz-memory": xz_with_large_dictionary,
    "7z-ratio": lambda: seven_zipped({"a": bytes(5 * MIB)}),
    "nested-too-deep": lambda: nested(3),
    "nested-bomb": lambda: zipped({"inner.zip": zipped({"a": bytes(MIB)})}, packing=zipfile.ZIP_STORED),
    # Headers that lie
    "zip-less-than-it-holds": lambda: lying_size(20),
    "zip-less-than-it-holds-with-the-checksum-of-more": lambda: lying_size(20, checked=21),
    "zip-more-than-it-holds": lambda: lying_size(99),
    "zip-reaches-into-the-table": lambda: lying_size(65, packed=5000),
    "zip-method": lambda: with_method(99),
    "zip-64": with_large_end,
    "zip-no-name": lambda: zipped({".": b"x"}),
    "7z-encrypted": seven_zipped_encrypted,
    "zip-central-size": lambda: patched(zipped({"a": b"x" * 50}), CENTRAL, 24, struct.pack("<L", 20)),
    "zip-local-size": lambda: patched(zipped({"a": b"x" * 50}), LOCAL, 22, struct.pack("<L", 20)),
    "zip-local-name": lambda: patched(zipped({"abc": b"x"}), LOCAL, 30, b"../"),
    "zip-local-method": lambda: patched(zipped({"abc": b"x"}), LOCAL, 8, b"\0\0"),
    "zip-stored-size": lambda: patched(
        zipped({"a": b"x" * 50}, packing=zipfile.ZIP_STORED), CENTRAL, 24, struct.pack("<L", 20)
    ),
    "zip-checksum": lambda: patched(patched(zipped({"a": b"x"}), LOCAL, 14, b"aaaa"), CENTRAL, 16, b"aaaa"),
    "zip-encrypted": lambda: patched(patched(zipped({"a": b"x"}), LOCAL, 6, b"\1\0"), CENTRAL, 8, b"\1\0"),
    "zip-table": lambda: patched(zipped(HONEST), END, 12, struct.pack("<L", 100 * MIB)),
    "zip-fewer-entries-than-it-says": lambda: counting_wrong(3, said=4),
    "zip-more-entries-than-it-says": lambda: counting_wrong(3, said=2),
    "zip-without-an-end": lambda: zipped(HONEST)[:-10],
    "tar-cut": lambda: tarred(HONEST)[:1000],
    "tar-records-without-an-end": lambda: with_records(b"9" * 20_000),
    "tar-many-digits": lambda: with_records(record(b"comment", b"1" * 20_000)),
    "tar-many-digits-for-all": lambda: with_records(record(b"comment", b"1" * 20_000), tarfile.XGLTYPE),
    "tar-records-that-say-nothing": lambda: with_records(b"4 a\n" * 9 + record(b"comment", b"x")),
    "tar-record-that-is-longer": lambda: with_records(b"999 comment=x\n"),
    "tar-record-that-is-shorter": lambda: with_records(b"9 comment=x\n"),
    "tar-record-without-a-length": lambda: with_records(b"comment=x\n"),
    "tar-broken-in-the-middle": lambda: tarred({"a": b"x", "b": b"y"}).replace(b"b\0\0\0", b"c\0\0\0", 1),
    "gz-cut": lambda: tarred(HONEST, "gz")[:-20],
    "xz-cut": lambda: tarred(HONEST, "xz")[:-40],
    "gz-of-something-else": lambda: b"\x1f\x8b" + b"x" * 100,
    "7z-less-than-it-holds": lambda: seven_zipped({"a": b"x" * 10, "b": b"y" * 10}, _shorter),
    "7z-cut": lambda: seven_zipped(HONEST)[:-20],
    "7z-garbage": lambda: seven_zipped(HONEST)[:40] + b"\xff" * 100,
    "no-archive": lambda: b"just a text",
    "empty-file": lambda: b"",
}


def witness(folder: Path) -> dict[str, bytes]:
    """Every name and byte, hidden ones too."""
    found = {str(file): file.read_bytes() if file.is_file() else b"" for file in sorted(folder.rglob("*"))}
    assert not Path("/tmp/callgate-escaped.txt").exists()
    return found


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "witness.txt").write_text("as it was")
    (tmp_path / "root").mkdir()
    return tmp_path


@pytest.mark.parametrize("name", HOSTILE)
async def test_it_is_refused_and_nothing_is_written(place: Path, name: str) -> None:
    """TOOL-13."""
    (place / "root" / "evil.bin").write_bytes(HOSTILE[name]())
    before = witness(place)
    async with opened(place / "root", "archives") as gate:
        await call(gate, "archive_open", path="evil.bin")
        answers = [
            await call(gate, "archive_extract"),
            await call(gate, "archive_extract", archive_name="evil.bin", process_documents=False),
            await call(gate, "archive_extract", archive_name="evil.bin#0123456789abcdef"),
        ]
    assert not any(answer.ok for answer in answers)
    assert witness(place) == before


SEEN_WHEN_UNPACKED = {
    "git-hook",
    "zip-less-than-it-holds",
    "zip-less-than-it-holds-with-the-checksum-of-more",
    "zip-more-than-it-holds",
    "zip-checksum",
    "7z-less-than-it-holds",
}
SEEN_AT_ONCE = sorted(set(HOSTILE) - SEEN_WHEN_UNPACKED)


@pytest.mark.parametrize("name", SEEN_AT_ONCE)
async def test_what_can_be_seen_without_unpacking_is_refused_when_it_is_opened(place: Path, name: str) -> None:
    (place / "root" / "evil.bin").write_bytes(HOSTILE[name]())
    async with opened(place / "root", "archives") as gate:
        outcome = await call(gate, "archive_open", path="evil.bin")
    assert not outcome.ok
    assert outcome.error is not None
    assert outcome.error.category.value == "user_input_error", str(outcome)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"9" * 20_000, "too many digits on end"),
        (record(b"comment", b"1" * 20_000), "too many digits on end"),
        (b"9" * 21 + b" a=\n", "not as long as they say"),
        (b"4 a\n" * 9 + record(b"comment", b"x"), "says nothing"),
    ],
    ids=["a-length", "a-value", "a-long-length", "no-value"],
)
async def test_a_header_that_takes_long_to_search_is_refused_before_it_is_searched(
    place: Path, body: bytes, said: str
) -> None:
    """The standard library's search takes the square of its digits, and nothing else runs meanwhile."""
    (place / "root" / "a.tar").write_bytes(with_records(body))
    async with opened(place / "root", "archives") as gate:
        assert said in str(await call(gate, "archive_open", path="a.tar"))


async def test_a_header_with_digits_as_people_write_them_is_read(place: Path) -> None:
    """A time stamp, a digest, an attribute of 64 KiB; all in one header, and one that counts for all before it."""
    values = {b"mtime": b"1700000000.123456789", b"comment": b"1234567890" * 20, b"x.attr": b"12ab" * 16_000}
    body = b"".join(record(keyword, value) for keyword, value in values.items())
    general = with_records(record(b"comment", b"12"), tarfile.XGLTYPE)[: 2 * tarfile.BLOCKSIZE]
    (place / "root" / "a.tar").write_bytes(general + with_records(body + record(b"path", b"1" * 200)))
    async with opened(place / "root", "archives") as gate:
        manifest = (await call(gate, "archive_open", path="a.tar")).unwrap()
        assert (await call(gate, "archive_extract")).ok
    assert manifest["files"] == [{"name": "1" * 200, "size": 1}]


async def test_a_member_that_holds_more_than_it_says_is_not_read(place: Path) -> None:
    (place / "root" / "evil.zip").write_bytes(lying_size(20, checked=21))
    async with opened(place / "root", "archives") as gate:
        assert (await call(gate, "archive_open", path="evil.zip")).ok
        for answer in (
            await call(gate, "archive_file", filename="a.txt"),
            await call(gate, "archive_search", query="hidden"),
        ):
            assert not answer.ok
            assert "hidden" not in str(answer)


@pytest.mark.parametrize(
    ("limit", "value"),
    [("LARGEST_ARCHIVE", 100), ("LARGEST_TOTAL", 100), ("LARGEST_MEMBER", 100), ("MOST_FILES", 3)],
)
async def test_sizes_and_numbers_are_bounded(
    place: Path, monkeypatch: pytest.MonkeyPatch, limit: str, value: int
) -> None:
    """TOOL-13: 500 MiB of archive, 1 GiB in all, 100 MiB a member, 1000 files."""
    usual = {"LARGEST_ARCHIVE": 500, "LARGEST_TOTAL": 1024, "LARGEST_MEMBER": 100, "MOST_FILES": 1000 / MIB}
    assert getattr(limits, limit) == usual[limit] * MIB
    (place / "root" / "a.zip").write_bytes(zipped(HONEST))
    async with opened(place / "root", "archives") as gate:
        assert (await call(gate, "archive_open", path="a.zip")).ok
        monkeypatch.setattr(examining, limit, value)
        assert not (await call(gate, "archive_open", path="a.zip")).ok


async def test_own_files_are_not_opened_as_archives_nor_unpacked_over(place: Path) -> None:
    root = place / "root"
    (root / "callgate.yaml").write_text("version: 1\n")
    (root / "own.zip").symlink_to("callgate.yaml")
    (root / "second.zip").hardlink_to(root / "callgate.yaml")
    (root / "outside.zip").symlink_to(place / "outside" / "witness.txt")
    (root / "callgate.yaml.zip").write_bytes(zipped(HONEST))
    before = witness(place)
    gate = Callgate.open("memory://", root / "callgate.yaml", working_directory=root, builtin_tools=["archives"])
    async with gate:
        for path in ("callgate.yaml", "own.zip", "second.zip", "outside.zip", "../outside/witness.txt"):
            assert not (await call(gate, "archive_open", path=path)).ok
        assert (await call(gate, "archive_open", path="callgate.yaml.zip")).ok
        assert not (await call(gate, "archive_extract")).ok
    assert witness(place) == before


@pytest.mark.slow
async def test_a_directory_that_becomes_a_link_meanwhile_is_not_unpacked_into(place: Path) -> None:
    """The archive and what lies outside look the same, so that only the way tells them apart."""
    moving = place / "root" / "moving"
    moving.mkdir()
    for folder in (moving, place / "outside"):
        (folder / "a.zip").write_bytes(zipped(HONEST))
    before = witness(place / "outside")
    async with opened(place / "root", "archives") as gate:
        with swapping(moving, place / "outside") as rounds:
            answers: list[Outcome] = []
            for _ in range(90):
                answers.append(await call(gate, "archive_open", path="moving/a.zip"))
                answers.append(await call(gate, "archive_extract", archive_name="moving/a.zip"))
    assert witness(place / "outside") == before
    assert {answer.ok for answer in answers} == {True, False}
    assert rounds[0] > 100
    unpacked = [folder.name for folder in moving.iterdir() if folder.is_dir()]
    assert len(unpacked) == sum(answer.ok for answer in answers[1::2])
    assert not any(name.startswith(".") for name in unpacked)
