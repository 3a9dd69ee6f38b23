"""read_file: lines by number, bounded in lines and bytes, in the encoding that is named. TOOL-12."""

from __future__ import annotations

import asyncio
import json
import math
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from callgate.model.event import Event
from callgate.model.levels import Category
from callgate.tools.file_facts import digest_of
from callgate.tools.files import read
from callgate.tools.moments import moment
from tests.tools.examples import run_examples
from tests.tools.files.calling import call, once, opened

LINES = "".join(f"line {number}\n" for number in range(1, 11))


async def got(folder: Path, **arguments: Any) -> dict[str, Any]:
    return (await once(folder, "read_file", **arguments)).unwrap()


async def test_a_file_is_read_with_its_size_and_time(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes("grün\n".encode())
    found = await got(tmp_path, path="a.txt")
    assert found["content"] == "grün\n"
    assert found["size"] == 6
    assert found["path"] == str(tmp_path / "a.txt")
    assert found["modified"].endswith("+00:00")
    assert (found["total_lines"], found["truncated"]) == (1, False)


@pytest.mark.parametrize(
    ("arguments", "content"),
    [
        ({"offset": 9}, "line 9\nline 10\n"),
        ({"offset": 2, "limit": 2}, "line 2\nline 3\n"),
        ({"start_line": 2, "end_line": 3}, "line 2\nline 3\n"),
        ({"end_line": 1}, "line 1\n"),
        ({"offset": 10, "line_numbers": True}, "10\tline 10\n"),
        ({"limit": 2, "line_numbers": True}, "1\tline 1\n2\tline 2\n"),
    ],
    ids=["offset", "offset-and-limit", "start-and-end", "end", "last-numbered", "numbered"],
)
async def test_lines_are_counted_from_one(tmp_path: Path, arguments: dict[str, Any], content: str) -> None:
    """TOOL-12: offset is 1-based; start_line and end_line say the same."""
    (tmp_path / "a.txt").write_text(LINES)
    found = await got(tmp_path, file_path="a.txt", **arguments)
    assert found["content"] == content
    assert found["truncated"] is (not content.endswith("line 10\n"))


async def test_no_more_than_max_bytes_are_given_and_the_cut_is_told(tmp_path: Path) -> None:
    """TOOL-12: at most max_bytes, marked when cut; bytes and not characters, and no half character."""
    (tmp_path / "a.txt").write_text("ä" * 100)
    found = await got(tmp_path, path="a.txt", max_bytes=31)
    assert found["content"] == "ä" * 15
    assert found["truncated"] is True
    assert found["size"] == 200
    whole = await got(tmp_path, path="a.txt", max_bytes=200)
    assert (whole["content"], whole["truncated"]) == ("ä" * 100, False)
    (tmp_path / "b.txt").write_text(LINES)
    found = await got(tmp_path, path="b.txt", max_bytes=10)
    assert (found["content"], found["truncated"], found["total_lines"]) == ("line 1\n", True, None)


async def test_who_reads_on_behind_what_was_read_misses_nothing(tmp_path: Path) -> None:
    """Lines that were returned are whole."""
    (tmp_path / "a.txt").write_text(LINES)
    read, offset = "", 1
    while True:
        found = await got(tmp_path, path="a.txt", offset=offset, max_bytes=17)
        read += found["content"]
        offset += found["lines_returned"]
        if not found["truncated"]:
            break
    assert read == LINES


@pytest.mark.parametrize("path", [".", "sub", "sub/..", "sub/."])
async def test_a_directory_is_told_as_one_also_the_working_directory(tmp_path: Path, path: str) -> None:
    (tmp_path / "sub").mkdir()
    outcome = await once(tmp_path, "read_file", path=path)
    assert "is a directory, and no file" in str(outcome)


async def test_a_file_of_the_far_future_is_listed_and_read_like_any_other(tmp_path: Path) -> None:
    """Some file systems keep such a time, and others the last they know."""
    (tmp_path / "a.txt").write_text("x")
    (tmp_path / "b.txt").write_text("x")
    os.utime(tmp_path / "a.txt", (2**40, 2**40))
    async with opened(tmp_path) as gate:
        assert len((await call(gate, "list_directory", path=".")).unwrap()) == 2
        assert (await call(gate, "read_file", path="a.txt")).unwrap()["content"] == "x"
    assert [moment(seconds) for seconds in (0, 2**40, -(2**40), 2**70)] == [
        "1970-01-01T00:00:00+00:00",
        *["unknown"] * 3,
    ]


async def test_an_empty_file_has_no_lines(tmp_path: Path) -> None:
    (tmp_path / "a.txt").touch()
    found = await got(tmp_path, path="a.txt")
    assert (found["content"], found["total_lines"], found["truncated"]) == ("", 0, False)


async def test_a_large_file_is_read_where_it_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read, "_WHOLE", 1000)
    (tmp_path / "a.txt").write_text("x" * 200_000 + "\n" + LINES)
    whole = digest_of((tmp_path / "a.txt").read_bytes())
    found = await got(tmp_path, path="a.txt", offset=3, limit=1)
    assert (found["content"], found["digest"]) == ("line 2\n", whole)
    monkeypatch.setattr(read, "_DIGESTED", 2000)
    found = await got(tmp_path, path="a.txt", offset=3, limit=1)
    assert (found["content"], found["digest"]) == ("line 2\n", None)
    monkeypatch.setattr(read, "_FURTHEST", 100_000)
    outcome = await once(tmp_path, "read_file", path="a.txt", offset=3)
    assert "further than" in str(outcome)


async def test_how_far_into_a_file_lines_are_looked_for_is_counted_in_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.txt").write_text("ä\n" * 100_000)
    monkeypatch.setattr(read, "_WHOLE", 1000)
    monkeypatch.setattr(read, "_FURTHEST", 150_000)
    async with opened(tmp_path) as gate:
        assert (await call(gate, "read_file", path="a.txt", offset=45_000, limit=1)).unwrap()["content"] == "ä\n"
        outcome = await call(gate, "read_file", path="a.txt", offset=60_000, limit=1)
        assert "line 60000 lies further than 150000 bytes" in str(outcome)
        cut = (await call(gate, "read_file", path="a.txt", offset=45_000, limit=100_000)).unwrap()
    assert (cut["truncated"], cut["total_lines"]) == (True, None)
    assert 1000 < cut["lines_returned"] < 10_000


@pytest.mark.parametrize("whole", [16 * 1024 * 1024, 1], ids=["as-a-whole", "by-pieces"])
async def test_reading_ends_at_its_time_limit(tmp_path: Path, whole: int, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.txt").write_text(LINES)
    monkeypatch.setattr(read, "_WHOLE", whole)
    monkeypatch.setattr(read, "time", SimpleNamespace(monotonic=lambda: math.inf))
    outcome = await once(tmp_path, "read_file", path="a.txt")
    assert outcome.error is not None
    assert outcome.error.category is Category.TIMEOUT
    assert "lines nearer to the beginning" in str(outcome)


@pytest.mark.parametrize("whole", [16 * 1024 * 1024, 1], ids=["as-a-whole", "by-pieces"])
async def test_reading_ends_with_its_call(tmp_path: Path, whole: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """To count millions of lines takes seconds, and nobody waits for them any more."""
    (tmp_path / "a.txt").write_bytes(b"\n" * (16 * 1024 * 1024))
    monkeypatch.setattr(read, "_WHOLE", whole)
    loop, begun, codec = asyncio.get_running_loop(), asyncio.Event(), read._codec  # pyright: ignore[reportPrivateUsage]

    def begin(encoding: str) -> str:
        loop.call_soon_threadsafe(begun.set)
        return codec(encoding)

    monkeypatch.setattr(read, "_codec", begin)
    async with asyncio.timeout(60), opened(tmp_path) as gate:
        late = asyncio.Queue[Event]()
        gate.on("tool_call.settled_late", late.put_nowait)
        calling = asyncio.create_task(call(gate, "read_file", path="a.txt", offset=16_000_000))
        await begun.wait()
        calling.cancel()
        told = (await late.get()).payload or {}
    assert told["exception"].startswith("TimeoutError: reading took too long")


@pytest.mark.parametrize(
    ("encoding", "data"),
    [("latin-1", b"gr\xfcn"), ("utf-16", "grün".encode("utf-16")), ("UTF8", "grün".encode())],
)
async def test_the_encoding_is_the_one_that_is_named(tmp_path: Path, encoding: str, data: bytes) -> None:
    (tmp_path / "a.txt").write_bytes(data)
    assert (await got(tmp_path, path="a.txt", encoding=encoding))["content"] == "grün"


@pytest.mark.parametrize(("encoding", "data"), [("utf-7", b"fine\n+2AA-\n"), ("utf-16-le", b"\x00\xd8a\x00")])
async def test_half_of_a_character_is_no_text(tmp_path: Path, encoding: str, data: bytes) -> None:
    (tmp_path / "a.txt").write_bytes(data)
    outcome = await once(tmp_path, "read_file", path="a.txt", encoding=encoding)
    assert outcome.error is not None
    assert outcome.error.category is Category.USER_INPUT
    assert json.dumps(outcome.to_machine(), ensure_ascii=False).encode()


async def test_a_file_whose_real_name_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"\xff.txt")).write_text("hello\n")
    (tmp_path / "link.txt").symlink_to(os.fsdecode(b"\xff.txt"))
    async with opened(tmp_path) as gate:
        read_by_link = await call(gate, "read_file", path="link.txt")
        others = [
            await call(gate, "list_directory", path="."),
            await call(gate, "search_files", pattern="hello", path="."),
        ]
    assert "no UTF-8" in str(read_by_link)
    for outcome in (read_by_link, *others):
        assert json.dumps(outcome.to_machine(), ensure_ascii=False).encode()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"path": "a.txt", "offset": 0}, "greater than or equal to 1"),
        ({"path": "a.txt", "limit": 0}, "greater than or equal to 1"),
        ({"path": "a.txt", "offset": 11}, "behind the end: the file has 10 lines"),
        ({"path": "a.txt", "start_line": 3, "end_line": 2}, "lies before"),
        ({"path": "a.txt", "offset": 1, "start_line": 2}, "give one of them"),
        ({"path": "a.txt", "limit": 1, "end_line": 2}, "give one of them"),
        ({"path": "a.txt", "file_path": "b.txt"}, "give one of them"),
        ({}, "path is missing"),
        ({"path": "a.txt", "encoding": "klingon"}, "not known"),
        ({"path": "a.txt", "encoding": "hex"}, "not known"),
        ({"path": "binary"}, "no utf-8 text"),
    ],
    ids=[
        "offset-0",
        "limit-0",
        "behind-the-end",
        "backwards",
        "two-beginnings",
        "two-ends",
        "two-paths",
        "no-path",
        "no-encoding",
        "no-text-encoding",
        "binary",
    ],
)
async def test_what_cannot_be_meant_is_an_input_error(tmp_path: Path, arguments: dict[str, Any], said: str) -> None:
    """TOOL-12: offset 0 is an input error."""
    (tmp_path / "a.txt").write_text(LINES)
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00\xff")
    outcome = await once(tmp_path, "read_file", **arguments)
    assert outcome.error is not None
    assert outcome.error.category is Category.USER_INPUT
    assert said in str(outcome)


async def test_what_is_not_there_or_no_file_says_so(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    for path, said in (("nothing.txt", "No such file"), ("folder", "is a directory"), ("nothing/a.txt", "No such")):
        outcome = await once(tmp_path, "read_file", path=path)
        assert outcome.error is not None
        assert outcome.error.category is Category.RESOURCE
        assert said in str(outcome)


async def test_links_that_stay_inside_are_followed(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "a.txt").write_text("here")
    (tmp_path / "link").symlink_to("folder")
    found = await got(tmp_path, path="link/../link/a.txt")
    assert (found["content"], found["path"]) == ("here", str(tmp_path / "folder" / "a.txt"))


async def test_the_examples_run(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("TODO: def x():\n")
    async with opened(tmp_path) as gate:
        await run_examples(gate, "read_file", "write_file", "list_directory", "list_dir", "search_files")
        assert (await call(gate, "read_file", path="notes.txt")).unwrap()["content"] == "one line\nmore\n"
