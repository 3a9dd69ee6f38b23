"""archive_open, archive_extract, archive_file, archive_search: honest archives of every kind. TOOL-13."""

from __future__ import annotations

import asyncio
import math
import os
import stat
import subprocess
import sys
import tarfile
import threading
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from callgate import Context, Failed, Pending, Previewed, Refused
from callgate.model.levels import Autonomy, Category, Happened
from callgate.tools.archives import pouring, sevenzip_process, shelf, stage
from tests.tools.archives.building import HONEST, seven_zipped, tarred, tarred_entries, zipped
from tests.tools.examples import run_examples
from tests.tools.files.calling import call, opened
from tests.waiting import until

KINDS: dict[str, Callable[[], bytes]] = {
    "zip": lambda: zipped(HONEST),
    "zip-stored": lambda: zipped(HONEST, packing=zipfile.ZIP_STORED),
    "zip-bzip2": lambda: zipped(HONEST, packing=zipfile.ZIP_BZIP2),
    "zip-lzma": lambda: zipped(HONEST, packing=zipfile.ZIP_LZMA),
    "tar": lambda: tarred(HONEST),
    "tar.gz": lambda: tarred(HONEST, "gz"),
    "tar.bz2": lambda: tarred(HONEST, "bz2"),
    "tar.xz": lambda: tarred(HONEST, "xz"),
    "7z": lambda: seven_zipped(HONEST),
}


@pytest.fixture(params=KINDS)
def bundle(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    kind = str(request.param)
    (tmp_path / f"bundle.{kind.partition('-')[0]}").write_bytes(KINDS[kind]())
    return tmp_path


def files_in(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def names(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


def archive_in(folder: Path) -> str:
    [file] = folder.glob("bundle.*")
    return file.name


def open_files() -> int:
    """How many files this process has open; pipes and sockets of the gate come and go."""
    return sum(is_file(int(entry.name)) for entry in Path("/dev/fd").iterdir())


def is_file(handle: int) -> bool:
    try:
        return stat.S_ISREG(os.fstat(handle).st_mode)
    except OSError:
        return False  # that of the directory that is listed


async def test_every_kind_is_looked_into_read_searched_and_unpacked(bundle: Path) -> None:
    """TOOL-13: the manifest first; search knows no case; what is unpacked is what was packed."""
    name = archive_in(bundle)
    async with opened(bundle, "archives") as gate:
        manifest = (await call(gate, "archive_open", path=name)).unwrap()
        assert manifest["total_files"] == 4
        assert manifest["total_size"] == sum(map(len, HONEST.values()))
        assert manifest["types"] == {".md": 1, ".txt": 1, ".dat": 1, "none": 1}
        assert {entry["name"]: entry["size"] for entry in manifest["files"]} == {
            name: len(data) for name, data in HONEST.items()
        }
        assert (await call(gate, "archive_file", filename="README.md")).unwrap() == HONEST["README.md"].decode()
        assert (await call(gate, "archive_search", query="LICENSE")).unwrap() == [
            {"file": "README.md", "line": 2, "section": "Title", "match": "hello License"},
            {"file": "README.md", "line": 5, "section": "Two", "match": "last license line"},
        ]
        done = (await call(gate, "archive_extract")).unwrap()
    assert done == {"extracted": 4, "processed": 3, "sections_total": 4, "stored_in": str(bundle / "bundle")}
    assert files_in(bundle / "bundle") == HONEST
    assert names(bundle) == ["bundle", name]


async def test_nothing_is_unpacked_read_or_searched_that_was_not_opened(tmp_path: Path) -> None:
    """TOOL-13: extract without open is an error, and one session's archive is not another's."""
    (tmp_path / "a.zip").write_bytes(zipped(HONEST))
    async with opened(tmp_path, "archives") as gate:
        other = Context(session="other", autonomy=Autonomy.A4)
        assert (await gate.call("archive_open", {"path": "a.zip"}, other)).ok
        for meant in ({}, {"archive_name": "a.zip"}, {"archive_name": "nothing.zip"}):
            for name, more in (
                ("archive_extract", {}),
                ("archive_file", {"filename": "README.md"}),
                ("archive_search", {"query": "a"}),
            ):
                outcome = await call(gate, name, **meant, **more)
                assert not outcome.ok
                assert "call archive_open" in str(outcome)
        asked = await gate.call("archive_extract", {})
        assert isinstance(asked, Refused), "nobody is asked about what cannot be"
        assert asked.error is not None
        assert "pass the archive_name that archive_open gave" in asked.error.message
        assert (asked.error.code, asked.error.category) == ("invalid_arguments", Category.USER_INPUT)
        assert "call archive_open first" in asked.error.message
        assert "Do not retry" not in (asked.error.suggestion or "")
    assert names(tmp_path) == ["a.zip"]


async def test_the_last_one_is_meant_unless_one_is_named(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    for name in ("a", "sub/b"):
        (tmp_path / f"{name}.zip").write_bytes(zipped({"name.txt": name.encode()}))
    async with opened(tmp_path, "archives") as gate:
        first = (await call(gate, "archive_open", path="a.zip")).unwrap()["archive_name"]
        assert (await call(gate, "archive_open", path="sub/b.zip")).ok
        for named, content in (
            (None, "sub/b"),
            ("a.zip", "a"),
            (first, "a"),
            ("b.zip", "sub/b"),
            ("sub/b.zip", "sub/b"),
        ):
            answer = await call(gate, "archive_file", filename="name.txt", archive_name=named)
            assert answer.unwrap() == content


@pytest.mark.parametrize("file", ["a#b.zip", "#.zip", f"a#{'0' * 31}.zip"])
async def test_a_file_with_a_hash_in_its_name_is_named_as_others_are(tmp_path: Path, file: str) -> None:
    (tmp_path / file).write_bytes(zipped(HONEST))
    async with opened(tmp_path, "archives") as gate:
        name = (await call(gate, "archive_open", path=file)).unwrap()["archive_name"]
        for meant in (file, f"./{file}", name):
            assert (await call(gate, "archive_file", filename="docs/a.txt", archive_name=meant)).unwrap() == "plain\n"
            assert (await call(gate, "archive_extract", archive_name=meant)).ok
        other = await gate.call("archive_extract", {"archive_name": "other#b.zip"})
    assert isinstance(other, Refused), "nobody is asked about what cannot be"
    assert "'other#b.zip' is not open in this session" in str(other)


async def test_the_name_that_opening_gave_is_good_in_another_process(tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(zipped(HONEST))
    async with opened(tmp_path, "archives") as gate:
        name = (await call(gate, "archive_open", path="a.zip")).unwrap()["archive_name"]
    async with opened(tmp_path, "archives") as gate:
        assert (await call(gate, "archive_search", query="plain", archive_name=name)).unwrap()[0]["line"] == 1


async def test_an_archive_that_changed_since_has_to_be_opened_again(tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(zipped({"a.txt": b"one"}))
    async with opened(tmp_path, "archives") as gate:
        assert (await call(gate, "archive_open", path="a.zip")).ok
        (tmp_path / "a.zip").write_bytes(zipped({"a.txt": b"two"}))
        assert "changed since" in str(await call(gate, "archive_file", filename="a.txt"))
        assert not (await call(gate, "archive_extract")).ok
    assert names(tmp_path) == ["a.zip"]


async def test_only_the_last_few_archives_are_remembered(tmp_path: Path) -> None:
    for number in range(10):
        (tmp_path / f"{number}.zip").write_bytes(zipped({"a.txt": b"x"}))
    async with opened(tmp_path, "archives") as gate:
        for number in range(10):
            assert (await call(gate, "archive_open", path=f"{number}.zip")).ok
        assert not (await call(gate, "archive_file", filename="a.txt", archive_name="1.zip")).ok
        assert (await call(gate, "archive_file", filename="a.txt", archive_name="2.zip")).ok


async def test_only_the_sessions_that_opened_one_last_are_remembered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shelf, "_SESSIONS", 2)
    (tmp_path / "a.zip").write_bytes(zipped({"a.txt": b"x"}))
    async with opened(tmp_path, "archives") as gate:
        for session in ("one", "two", "one", "three"):
            assert (await gate.call("archive_open", {"path": "a.zip"}, Context(session=session))).ok
        for session, is_known in (("one", True), ("two", False), ("three", True)):
            outcome = await gate.call("archive_file", {"filename": "a.txt"}, Context(session=session))
            assert outcome.ok is is_known, session


async def test_a_part_of_it_can_be_unpacked(bundle: Path) -> None:
    async with opened(bundle, "archives") as gate:
        assert (await call(gate, "archive_open", path=archive_in(bundle))).ok
        done = (await call(gate, "archive_extract", pattern="*.txt", process_documents=False)).unwrap()
        assert (done["extracted"], done["processed"], done["sections_total"]) == (1, 0, 0)
        assert files_in(Path(done["stored_in"])) == {"docs/a.txt": HONEST["docs/a.txt"]}
        done = (await call(gate, "archive_extract", files=["empty", "bin.dat"])).unwrap()
        assert done["stored_in"] == str(bundle / "bundle-2")
        assert files_in(bundle / "bundle-2") == {"bin.dat": HONEST["bin.dat"], "empty": b""}


async def test_what_is_there_already_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(zipped(HONEST))
    (tmp_path / "a").write_text("a file")
    (tmp_path / "a-2").symlink_to("/tmp")
    (tmp_path / "a-3").mkdir()
    async with opened(tmp_path, "archives") as gate:
        assert (await call(gate, "archive_open", path="a.zip")).ok
        assert (await call(gate, "archive_extract")).unwrap()["stored_in"] == str(tmp_path / "a-4")
    assert (tmp_path / "a").read_text() == "a file"


async def test_where_every_name_is_taken_nothing_is_left_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stage, "_MOST_NAMES", 2)
    (tmp_path / "a.zip").write_bytes(zipped(HONEST))
    (tmp_path / "a").mkdir()
    async with opened(tmp_path, "archives") as gate:
        assert (await call(gate, "archive_open", path="a.zip")).ok
        assert "are taken" in str(await call(gate, "archive_extract"))
    assert names(tmp_path) == ["a", "a.zip"]


@pytest.mark.parametrize(
    ("files", "said"),
    [({}, "empty"), ({f"{n}.txt": b"" for n in range(21)}, "archive_search"), ({"a.txt": b""}, "archive_file")],
    ids=["none", "many", "few"],
)
async def test_what_to_do_with_it_is_recommended(tmp_path: Path, files: dict[str, bytes], said: str) -> None:
    (tmp_path / "a.zip").write_bytes(zipped(files))
    async with opened(tmp_path, "archives") as gate:
        manifest = (await call(gate, "archive_open", path="a.zip")).unwrap()
        assert said in manifest["recommendation"]
        assert (await call(gate, "archive_extract")).unwrap()["extracted"] == len(files)


async def test_an_archive_that_takes_too_long_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.zip").write_bytes(zipped(HONEST))
    async with opened(tmp_path, "archives") as gate:
        monkeypatch.setattr(shelf, "time", SimpleNamespace(monotonic=lambda: math.inf))
        outcome = await call(gate, "archive_open", path="a.zip")
    assert outcome.error is not None
    assert outcome.error.category is Category.TIMEOUT


@pytest.mark.parametrize("make", [seven_zipped, tarred, zipped], ids=["7z", "tar", "zip"])
async def test_archives_in_an_archive_are_given_up_with_their_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: Callable[[Mapping[str, bytes]], bytes]
) -> None:
    """All of them lie in the first piece that is read of the outer one: nothing more of that is asked for."""
    (tmp_path / "a.zip").write_bytes(zipped({f"{n}.zip": make(HONEST) for n in range(4)}))
    looked_into: list[str] = []
    pour = pouring.Kept.end

    def over(self: pouring.Kept) -> None:
        pour(self)
        looked_into.append(self.member.name)
        if len(looked_into) == 2:
            monkeypatch.setattr(shelf, "time", SimpleNamespace(monotonic=lambda: math.inf))

    monkeypatch.setattr(pouring.Kept, "end", over)
    async with opened(tmp_path, "archives") as gate:
        outcome = await call(gate, "archive_open", path="a.zip")
    assert outcome.error is not None
    assert outcome.error.category is Category.TIMEOUT
    assert looked_into == ["0.zip", "1.zip"]


async def test_a_7z_archive_in_an_archive_is_given_up_while_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.zip").write_bytes(zipped({"inner.7z": seven_zipped(HONEST)}))
    start = sevenzip_process.start

    def started(*given: Any, **options: Any) -> Any:
        monkeypatch.setattr(shelf, "time", SimpleNamespace(monotonic=lambda: math.inf))
        return start(*given, **options)

    monkeypatch.setattr(sevenzip_process, "start", started)
    async with opened(tmp_path, "archives") as gate:
        outcome = await call(gate, "archive_open", path="a.zip")
    assert outcome.error is not None
    assert outcome.error.category is Category.TIMEOUT


async def test_empty_directories_come_along_and_modes_do_not(tmp_path: Path) -> None:
    folder = tarfile.TarInfo("./folder/")
    folder.type = tarfile.DIRTYPE
    top = tarfile.TarInfo("./")
    top.type = tarfile.DIRTYPE
    program = tarfile.TarInfo("./program")
    program.mode, program.size = 0o6777, 1
    (tmp_path / "a.tar").write_bytes(tarred_entries([(top, b""), (folder, b""), (program, b"x")]))
    async with opened(tmp_path, "archives") as gate:
        assert (await call(gate, "archive_open", path="a.tar")).ok
        assert (await call(gate, "archive_extract")).ok
    assert (tmp_path / "a" / "folder").is_dir()
    assert not (tmp_path / "a" / "program").stat().st_mode & 0o6111


@pytest.mark.parametrize(
    ("name", "given", "said"),
    [
        ("archive_file", {"filename": "nothing"}, "not in the archive"),
        ("archive_file", {"filename": "bin.dat"}, "no UTF-8 text"),
        ("archive_file", {"filename": "large"}, "archive_extract"),
        ("archive_extract", {"files": ["nothing"]}, "not in the archive"),
        ("archive_extract", {"pattern": "*.nothing"}, "leave nothing"),
        ("archive_search", {"query": ""}, "query"),
        ("archive_search", {"query": "# Title\nhello"}, "line break"),
        ("archive_search", {"query": "hello License\r"}, "line break"),
    ],
    ids=["no-file", "no-text", "too-large", "no-such-file", "nothing-left", "no-query", "two-lines", "end-of-line"],
)
async def test_what_cannot_be_meant_is_an_input_error(
    tmp_path: Path, name: str, given: dict[str, Any], said: str
) -> None:
    (tmp_path / "a.zip").write_bytes(zipped({**HONEST, "large": os.urandom(1_000_001)}))
    async with opened(tmp_path, "archives") as gate:
        assert (await call(gate, "archive_open", path="a.zip")).ok
        outcome = await call(gate, name, **given)
    assert outcome.error is not None
    assert outcome.error.category is Category.USER_INPUT
    assert said in str(outcome)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"files": ["guide.md"]}, "did you mean 'docs/guide.md'?"),
        ({"files": ["same.md"]}, "archive_open lists its files"),
        ({"pattern": "*.nothing"}, "leave nothing to extract"),
    ],
)
async def test_nobody_is_asked_to_extract_what_is_not_there(tmp_path: Path, given: dict[str, Any], said: str) -> None:
    (tmp_path / "a.zip").write_bytes(zipped({"docs/guide.md": b"x", "a/same.md": b"", "b/same.md": b""}))
    async with opened(tmp_path, "archives") as gate:
        assert (await call(gate, "archive_open", path="a.zip")).ok
        refused = await gate.call("archive_extract", given)
    assert isinstance(refused, Refused), refused
    assert said in str(refused)


async def test_a_search_gives_at_most_fifty_lines(tmp_path: Path) -> None:
    """TOOL-13: at most 50 hits."""
    (tmp_path / "a.zip").write_bytes(zipped({f"{n}.txt": b"some line\n" * 40 + bytes(1) for n in range(2)}))
    (tmp_path / "b.zip").write_bytes(zipped({f"{n}.txt": b"Some line\n" * 40 for n in range(3)}))
    async with opened(tmp_path, "archives") as gate:
        assert (await call(gate, "archive_open", path="b.zip")).ok
        hits = (await call(gate, "archive_search", query="sOME")).unwrap()
        assert [hit["file"] for hit in hits] == ["0.txt"] * 40 + ["1.txt"] * 10
        assert [at for at, hit in enumerate(hits) if "note" in hit] == [49]
        assert "more than 50 lines" in hits[49]["note"]
        assert (await call(gate, "archive_open", path="a.zip")).ok
        assert (await call(gate, "archive_search", query="some")).unwrap() == []  # no text


async def test_a_text_in_another_encoding_is_searched_for_what_is_in_all_of_them(tmp_path: Path) -> None:
    letter = "# Grüße\nan die Größe: Needle\n"
    files = {"latin.txt": letter.encode("latin-1"), "utf16.txt": letter.encode("utf-16"), "utf8.txt": letter.encode()}
    (tmp_path / "a.zip").write_bytes(zipped(files))
    async with opened(tmp_path, "archives") as gate:
        assert (await call(gate, "archive_open", path="a.zip")).ok
        found = (await call(gate, "archive_search", query="needle")).unwrap()
        assert [(hit["file"], hit["line"], hit["section"], hit["match"]) for hit in found] == [
            ("latin.txt", 2, "Gr\ufffd\ufffde", "an die Gr\ufffd\ufffde: Needle"),
            ("utf8.txt", 2, "Grüße", "an die Größe: Needle"),
        ]
        assert [hit["file"] for hit in (await call(gate, "archive_search", query="größe")).unwrap()] == ["utf8.txt"]


async def test_fifty_lines_that_are_all_have_no_note(tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(zipped({"a.txt": b"some line\n" * 50}))
    async with opened(tmp_path, "archives") as gate:
        assert (await call(gate, "archive_open", path="a.zip")).ok
        hits = (await call(gate, "archive_search", query="some")).unwrap()
    assert len(hits) == 50
    assert not any("note" in hit for hit in hits)


async def test_a_large_file_is_searched_to_its_end(tmp_path: Path) -> None:
    lines = b"".join(b"%08d %s\n" % (at, os.urandom(100).hex().encode()) for at in range(90_000))
    assert len(lines) > 18_000_000
    (tmp_path / "a.zip").write_bytes(zipped({"large.log": lines + b"a needle\n"}))
    async with opened(tmp_path, "archives") as gate:
        assert (await call(gate, "archive_open", path="a.zip")).ok
        hits = (await call(gate, "archive_search", query="NEEDLE")).unwrap()
    assert hits == [{"file": "large.log", "line": 90_001, "section": "", "match": "a needle"}]


@pytest.mark.parametrize("before", ["", "x" * 290, "x" * 5000, "ß" * 5000, " " * 5000])
async def test_a_long_line_is_shown_around_its_match(tmp_path: Path, before: str) -> None:
    """Also where letters become two when upper and lower case are made the same."""
    (tmp_path / "a.zip").write_bytes(zipped({"a.txt": f"{before}Große Nadel{'y' * 5000}\n".encode()}))
    async with opened(tmp_path, "archives") as gate:
        assert (await call(gate, "archive_open", path="a.zip")).ok
        for query in ("GROSSE NADEL", "nadel", f"se nadel{'y' * 900}"):
            [hit] = (await call(gate, "archive_search", query=query)).unwrap()
            assert "Große Nadelyyy" in hit["match"]
            assert len(hit["match"]) <= 300


async def test_archives_in_an_archive_are_named(tmp_path: Path) -> None:
    inner = zipped({"deep.zip": zipped({"a.txt": b"x"}), "b.txt": b"y"})
    (tmp_path / "a.zip").write_bytes(zipped({"inner.zip": inner, "only-called.zip": b"text", "c.txt": b"z"}))
    async with opened(tmp_path, "archives") as gate:
        manifest = (await call(gate, "archive_open", path="a.zip")).unwrap()
    assert manifest["nested_archives"] == ["inner.zip", "only-called.zip"]


async def test_a_person_is_asked_and_shown_what_would_be_unpacked(tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(zipped({**HONEST, **{f"more/{n}.txt": b"x" for n in range(60)}}))
    async with opened(tmp_path, "archives") as gate:
        assert (await gate.call("archive_open", {"path": "a.zip"})).ok
        shown = await gate.call("archive_extract", {}, Context(autonomy=Autonomy.A0))
        assert isinstance(shown, Previewed)
        assert shown.preview is not None
        assert "README.md" in shown.preview.text
        assert "and 14 more" in shown.preview.text
        asked = await gate.call("archive_extract", {})
        assert isinstance(asked, Pending)
        assert names(tmp_path) == ["a.zip"]
        await gate.approve(asked.approval_id, by="ann")
        assert (await gate.resume(asked.approval_id)).ok
    assert len(files_in(tmp_path / "a")) == 64


async def test_a_disk_that_is_full_leaves_nothing(bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No half extraction, and the outcome says that nothing happened."""
    written: list[bytes] = []

    def full(_: int, data: bytes) -> None:
        written.append(data)
        if len(written) == 3:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(stage, "write_all", full)
    async with opened(bundle, "archives") as gate:
        assert (await call(gate, "archive_open", path=archive_in(bundle))).ok
        outcome = await call(gate, "archive_extract")
    assert isinstance(outcome, Failed)
    assert outcome.happened is Happened.NONE
    assert outcome.error is not None
    assert outcome.error.category is Category.RESOURCE
    assert names(bundle) == [archive_in(bundle)]


@pytest.mark.parametrize("make", [zipped, tarred, seven_zipped], ids=["zip", "tar", "7z"])
async def test_a_call_that_is_given_up_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: Callable[[Mapping[str, bytes]], bytes]
) -> None:
    """Cancelled or past its time while it writes: what was written is gone, its handle too, and nothing is shown."""
    (tmp_path / "bundle.bin").write_bytes(make({f"{n}.bin": os.urandom(3_000_000) for n in range(3)}))
    writing, go_on, gone = threading.Event(), threading.Event(), threading.Event()
    usual, remove = stage.write_all, stage.shutil.rmtree

    def slow(fd: int, data: bytes) -> None:
        writing.set()
        assert go_on.wait(30)
        usual(fd, data)

    def removed(*given: Any, **options: Any) -> None:
        remove(*given, **options)
        gone.set()

    monkeypatch.setattr(stage, "write_all", slow)
    monkeypatch.setattr(stage.shutil, "rmtree", removed)
    async with opened(tmp_path, "archives") as gate:
        assert (await call(gate, "archive_open", path="bundle.bin")).ok
        before = open_files()
        task = asyncio.create_task(call(gate, "archive_extract"))
        assert await asyncio.to_thread(writing.wait, 30)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        go_on.set()
        assert await asyncio.to_thread(gone.wait, 30)
        await until(lambda: open_files() <= before)
    assert names(tmp_path) == ["bundle.bin"]


async def test_a_call_that_ended_before_its_rename_does_not_show_its_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.zip").write_bytes(zipped(HONEST))
    ready, go_on, ended = threading.Event(), threading.Event(), threading.Event()
    errors: list[BaseException] = []
    end = pouring.Sink.end
    remove = stage.shutil.rmtree

    def held_up(self: pouring.Sink) -> None:
        end(self)
        if type(self).__name__ == "Written" and self.member.name == "empty":
            ready.set()
            assert go_on.wait(30)

    def removed(*given: Any, **options: Any) -> None:
        error = sys.exc_info()[1]
        if error is not None:
            errors.append(error)
        remove(*given, **options)
        ended.set()

    monkeypatch.setattr(pouring.Sink, "end", held_up)
    monkeypatch.setattr(stage.shutil, "rmtree", removed)
    async with opened(tmp_path, "archives") as gate:
        assert (await call(gate, "archive_open", path="a.zip")).ok
        task = asyncio.create_task(call(gate, "archive_extract"))
        assert await asyncio.to_thread(ready.wait, 30)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        go_on.set()
        assert await asyncio.to_thread(ended.wait, 30)
    assert isinstance(errors[0], TimeoutError)
    assert names(tmp_path) == ["a.zip"]


async def test_7z_without_its_library_says_how_to_install_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.7z").write_bytes(seven_zipped(HONEST))
    (tmp_path / "a.zip").write_bytes(zipped(HONEST))
    monkeypatch.setitem(sys.modules, "py7zr", None)
    async with opened(tmp_path, "archives") as gate:
        outcome = await call(gate, "archive_open", path="a.7z")
        assert outcome.error is not None
        assert outcome.error.category is Category.CONFIGURATION
        assert "callgate[archives]" in str(outcome)
        assert (await call(gate, "archive_open", path="a.zip")).ok


async def test_the_examples_run(tmp_path: Path) -> None:
    (tmp_path / "bundle.zip").write_bytes(zipped(HONEST))
    async with opened(tmp_path, "archives") as gate:
        await run_examples(gate, "archive_open", "archive_file", "archive_search", "archive_extract")


@pytest.mark.slow
def test_an_archive_is_opened_and_unpacked_from_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(zipped(HONEST))

    def run(name: str, given: str) -> str:
        command = [sys.executable, "-m", "callgate", "call", name, given, "--json", "--autonomy", "A4"]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout

    said = run("archive_open", '{"path": "a.zip"}')
    name = said[said.index("a.zip#") :].partition('"')[0]
    run("archive_extract", f'{{"archive_name": "{name}"}}')
    assert files_in(tmp_path / "a") == HONEST
