"""search_files: what ripgrep finds, read again by handle; no configuration, no links, nothing of Callgate's own."""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
import select
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from callgate import Callgate
from callgate.adapters.tether import Tether
from callgate.model.event import Event
from callgate.model.levels import Category
from callgate.tools.files import ripgrep, search
from callgate.tools.files.ripgrep import Looked
from callgate.tools.files.ripgrep_lines import Hit, Lines
from callgate.tools.programs import find_program
from tests.tools.files.calling import call, once, opened
from tests.tools.files.searching import found, planted


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return planted(tmp_path)


async def test_lines_are_found_by_path_and_number(tree: Path) -> None:
    assert await found(tree, "needle") == [("a.py", 2, "needle = 1"), ("sub/b.md", 1, "# A needle")]
    assert await found(tree, "(?i)^needle$") == [("sub/b.md", 3, "Needle")]
    assert await found(tree, "nothing like it") == []


async def test_path_and_glob_narrow_it(tree: Path) -> None:
    assert await found(tree, "needle", glob="*.py") == [("a.py", 2, "needle = 1")]
    assert await found(tree, "needle", glob="!*.py") == [("sub/b.md", 1, "# A needle")]
    assert await found(tree, "needle", path="sub") == [("sub/b.md", 1, "# A needle")]
    assert await found(tree, "needle", path="a.py") == [("a.py", 2, "needle = 1")]
    assert await found(tree, "needle", path=".hidden") == [(".hidden", 1, "needle")]


async def test_a_limit_cuts_and_says_so(tree: Path) -> None:
    (tree / "many.txt").write_text("needle\n" * 50)
    for limit, truncated in ((52, False), (51, True), (3, True)):
        output = (await once(tree, "search_files", pattern="needle", limit=limit)).unwrap()
        assert (output["count"], output["truncated"]) == (min(limit, 52), truncated)


def open_handles() -> int:
    return len(list(Path("/dev/fd").iterdir()))


async def test_of_more_than_the_limit_the_first_by_path_and_line_are_given(tree: Path) -> None:
    """However ripgrep comes by them: it looks at several files at a time."""
    names = [f"d{at % 100:02}/{at:03}.txt" for at in range(300)]
    for name in names:
        (tree / name).parent.mkdir(exist_ok=True)
        (tree / name).write_text("first\nneedle\nneedle\n")
    assert (await once(tree, "search_files", pattern="^needle$", limit=600)).unwrap()["truncated"] is False
    open_before = open_handles()
    for limit in (1, 7, 100, 599):
        output = (await once(tree, "search_files", pattern="^needle$", limit=limit)).unwrap()
        lines = [(match["path"], match["line"]) for match in output["matches"]]
        assert lines == [(name, line) for name in sorted(names) for line in (2, 3)][:limit]
        assert output["truncated"] is True
    assert open_handles() == open_before


@pytest.mark.parametrize("taken_back", ["!.env*", "!.env*\\", "!.hid/", "!*", "!/.hid\n!/.hid/**\n!.env"])
async def test_what_is_hidden_is_left_out_whatever_an_ignore_file_takes_back(tree: Path, taken_back: str) -> None:
    (tree / ".gitignore").write_text(f"*.log\n{taken_back}")
    (tree / ".env").write_text("PASSWORD=needle-in-a-haystack")
    (tree / "sub" / ".hid" / "deep").mkdir(parents=True)
    (tree / "sub" / ".hid" / "deep" / "notes.txt").write_text("needle-in-a-haystack")
    (tree / ".hid").mkdir()
    (tree / ".hid" / "notes.txt").write_text("needle-in-a-haystack")
    (tree / "seen.txt").write_text("needle-in-a-haystack")
    search = "needle-in-a-haystack"
    assert [path for path, _, _ in await found(tree, search)] == ["seen.txt"]
    assert [path for path, _, _ in await found(tree, search, path="sub")] == []
    assert [path for path, _, _ in await found(tree, search, path="sub/.hid")] == ["sub/.hid/deep/notes.txt"]
    assert [path for path, _, _ in await found(tree, search, path="sub/.hid/deep")] == ["sub/.hid/deep/notes.txt"]
    assert [path for path, _, _ in await found(tree, search, path=".env")] == [".env"]
    assert [path for path, _, _ in await found(tree, search, glob="*.txt")] == ["seen.txt"]
    assert [path for path, _, _ in await found(tree, search, glob=".env")] == [".env"]


@pytest.mark.parametrize(("more", "is_read"), [(0, True), (1, False)])
async def test_an_ignore_file_of_more_than_a_megabyte_is_not_read(tree: Path, more: int, *, is_read: bool) -> None:
    (tree / ".gitignore").write_bytes(b"build/\n#".ljust(1024 * 1024 + more, b"x"))
    assert [path for path, _, _ in await found(tree, "^needle$")] == ([] if is_read else ["build/out.txt"])


async def test_the_mark_before_an_ignore_file_is_no_part_of_its_first_line(tree: Path) -> None:
    (tree / ".gitignore").write_bytes("build/\n".encode("utf-8-sig"))
    assert await found(tree, "^needle$") == []


async def test_an_ignore_file_counts_to_its_end_though_it_is_no_utf8(tree: Path) -> None:
    """Else what it takes back before that would be shown, though hidden."""
    (tree / ".gitignore").write_bytes(b"!.hidden\n# f\xfcr\nca\xe9/\nbuild/\n")
    for name in (b"ca\xe9", b"ca\xc3\xa9"):
        (tree / os.fsdecode(name)).mkdir()
        (tree / os.fsdecode(name) / "a.txt").write_text("needle\n")
    assert [path for path, _, _ in await found(tree, "^needle$")] == ["ca\u00e9/a.txt"]


async def test_braces_in_an_ignore_file_are_signs_of_a_name_as_to_git(tree: Path) -> None:
    (tree / ".gitignore").write_text("*.{a,b}\n{c}\n\\{d\\}\n[{]e\n{f\n\\\\{g\nbuild/\n")
    for name in ("x.{a,b}", "x.a", "x.b", "{c}", "c", "{d}", "d", "{e", "e", "{f", "f", "\\{g", "{g"):
        (tree / name).write_text("needle\n")
    paths = [path for path, _, _ in await found(tree, "^needle$")]
    assert paths == ["c", "d", "e", "f", "x.a", "x.b", "{g"]


async def test_lines_of_a_large_file_have_their_numbers(tree: Path) -> None:
    """It is read piece by piece, and lines lie across the borders of pieces."""
    lines = [f"{at:07} {'x' * (at % 200)}{' needle' if at % 997 == 0 else ''}" for at in range(40_000)]
    (tree / "large.log").write_text("\n".join(lines))
    assert (tree / "large.log").stat().st_size > 4 * 1024 * 1024
    expected = [("large.log", at + 1, line) for at, line in enumerate(lines) if "needle" in line]
    assert await found(tree, "needle", path="large.log") == expected
    assert await found(tree, "^0039999 x+$", path="large.log") == [("large.log", 40_000, lines[-1])]


@pytest.mark.parametrize("lines", [3, 300_000])
async def test_the_mark_before_a_text_is_no_part_of_its_first_line(tree: Path, lines: int) -> None:
    """Editors of Windows write it, to say that it is UTF-8."""
    text = "head\r\n" + "y\r\n" * lines + "long" + "z" * 5000 + " needle\r\nend"
    (tree / "marked.txt").write_bytes(b"\xef\xbb\xbf" + text.encode())
    (tree / "wide.txt").write_bytes(text.encode("utf-16"))
    for path in ({}, {"path": "marked.txt"}):
        assert await found(tree, "^head", **path) == [("marked.txt", 1, "head")]
        assert await found(tree, "^end$", **path) == [("marked.txt", lines + 3, "end")]
    ((_, number, shown),) = await found(tree, "z needle", path="marked.txt")
    assert (number, shown[-7:]) == (lines + 2, " needle")
    assert await found(tree, "^head", path="wide.txt") == []


async def test_a_long_line_is_shown_around_the_match(tree: Path) -> None:
    (tree / "long.txt").write_text("x" * 5000 + "haystack" + "y" * 5000)
    [(_, _, text)] = await found(tree, "haystack")
    assert "haystack" in text
    assert len(text) <= 300


@pytest.mark.parametrize(
    "sign", ["a", "ä", "\x01", '"', "\udcff"], ids=["plain", "two-bytes", "escaped", "quote", "no-utf-8"]
)
async def test_a_very_long_line_is_found_by_its_beginning(tree: Path, sign: str) -> None:
    """A file that is one line: ripgrep says all of it, and every match in it."""
    content = os.fsencode(sign * 300_000) + b"needle" + b"\nnext\n"
    (tree / "bundle.js").write_bytes(b"first\n" + content)
    ((_, line, text),) = await found(tree, "(?-u)needle", path="bundle.js")
    assert line == 2
    assert text.endswith("needle")
    assert [line for _, line, _ in await found(tree, "(?-u).", path="bundle.js")] == [1, 2, 3]


def test_what_it_says_is_read_however_it_is_cut() -> None:
    remark = b'./%s: WARNING: stopped searching binary file after match (found "\\0" byte around offset 7)\n'
    said = b"".join(
        (
            b"./a:1:2:3:\0007:4:42:" + b"x\1" * 200_000 + b"\n",
            b"./b\0007:4:42:short: with 1:2:3:colons\r\n",
            remark % b"b\nof two lines",
            b"./c\n./of two\0007:4:42:" + b"y" * 40_000 + b"\n",
            b"./c\n./of two\0008:1:99:again\n",
            remark % b"c\n./of two",
            b"./d\0001:1:0:\n",
            b"./e\0001:1:0:" + b"z" * 300_000,
        )
    )
    for size in (997, 4093, len(said)):
        lines = Lines()
        hits = [hit for at in range(0, len(said), size) for hit in lines.read(said[at : at + size])]
        assert [(hit.path, hit.offset, hit.number, hit.column) for hit in hits] == [
            ("a:1:2:3:", 42, 7, 3),
            ("b", 42, 7, 3),
            ("c\n./of two", 42, 7, 3),
            ("c\n./of two", 99, 8, 0),
            ("d", 0, 1, 0),
            ("e", 0, 1, 0),
        ]
        beginning, *others, unended = [hit.line for hit in hits]
        assert (beginning[:4], unended[:2]) == (b"x\1x\1", b"zz")
        assert len(unended) == 65_536
        assert others == [b"short: with 1:2:3:colons\r\n", b"y" * 40_000 + b"\n", b"again\n", b"\n"]


def test_what_is_no_hit_is_forgotten() -> None:
    """However much of it there is: a name has a bound, and nothing else is held."""
    lines = Lines()
    assert lines.read(b"nothing that has a NUL in it\n" * 1000) == []
    assert lines.read(b"z" * 300_000) == lines.read(b"z" * 300_000 + b"\n") == []
    assert [hit.path for hit in lines.read(b"./a\0001:1:0:x\n")] == ["a"]


async def test_names_may_have_anything_in_them(tree: Path) -> None:
    """Also where ripgrep remarks on a binary file between two of them; whether it tells of that is its own affair."""
    names = ["1:2:3:x", "two\nlines", "two\n./lines: 1:2:3", "a\tb", '"quoted"', "-e", "new\n", "line\r"]
    for name in names:
        (tree / name).parent.mkdir(exist_ok=True)
        (tree / name).write_text("pin\nno\npin")
        (tree / f"{name}.bin").write_bytes(b"pin\n" + b"x\n" * 100_000 + b"\0")
    told = [row for row in await found(tree, "^pin$") if not row[0].endswith(".bin")]
    assert told == [(name, line, "pin") for name in sorted(names) for line in (1, 3)]


async def test_of_a_binary_file_that_is_named_the_lines_before_its_first_nul_are_told(tree: Path) -> None:
    names = {
        "begins": b"\0needle\nneedle 2\n",
        "within": b"needle 1\nneed\0le\nneedle\0 3\nneedle 4\n",
        "behind": b"needle 1\nneedle 2\n\0\nneedle 4\n",
        "far": b"needle 1\n" + b"x\n" * 1_000_000 + b"needle 2\n\0\nneedle 3\n",
    }
    for name, content in names.items():
        (tree / name).write_bytes(content)
    told = {name: [text for _, _, text in await found(tree, "needle", path=name)] for name in names}
    both = ["needle 1", "needle 2"]
    assert told == {"begins": [], "within": ["needle 1"], "behind": both, "far": both}
    assert {path for path, _, _ in await found(tree, "needle")} - {"far"} == {"a.py", "sub/b.md"}


async def test_of_a_file_that_is_named_not_found_is_told_apart_from_not_searched(tree: Path) -> None:
    contents = {
        "utf16": "a needle\n".encode("utf-16"),
        "binary": b"needle\n\0needle\n",
        "without_nul": "\ufeff\u6f22\u5b57".encode("utf-16-le"),
        "far": b"x\n" * 1_000_000 + b"\0needle\n",
        "plain": b"nothing\n" * 1_000_000,
        "empty": b"",
    }
    for name, content in contents.items():
        (tree / name).write_bytes(content)
    said = {name: (await once(tree, "search_files", pattern="needle", path=name)).unwrap() for name in contents}
    assert {name for name, output in said.items() if "NUL" in (output["note"] or "")} == {
        "utf16",
        "binary",
        "far",
        "without_nul",
    }
    assert {name: output["count"] for name, output in said.items() if output["count"]} == {"binary": 1}
    assert (await once(tree, "search_files", pattern="needle")).unwrap()["note"] is None


async def test_lines_that_are_no_utf8_and_names_that_are_none_are_found(tree: Path) -> None:
    (tree / os.fsdecode(b"\xff.txt")).write_bytes(b"\xe4 needle\r\n")
    (tree / "binary").write_bytes(b"\0needle\n")
    assert ("\\xff.txt", 1, "\ufffd needle") in await found(tree, "needle")
    assert "binary" not in [path for path, _, _ in await found(tree, "needle")]


@pytest.mark.parametrize(
    "arguments",
    [
        {"pattern": "("},
        {"pattern": "a\nb"},
        {"pattern": "(?:a{1000}){1000}{1000}"},
        {"pattern": r"(a)\1"},
        {"pattern": ""},
        {"pattern": "x" * 5000},
        {"pattern": "a", "glob": "{a"},
        {"pattern": "a", "limit": 0},
    ],
    ids=["open", "two-lines", "too-large", "backward", "empty", "long", "glob", "limit"],
)
async def test_a_pattern_that_is_none_is_an_input_error(tree: Path, arguments: dict[str, Any]) -> None:
    outcome = await once(tree, "search_files", **arguments)
    assert outcome.error is not None
    assert outcome.error.category is Category.USER_INPUT


async def test_no_option_of_the_program_is_recommended_to_who_cannot_set_it(tree: Path) -> None:
    outcome = await once(tree, "search_files", pattern=r"a\nb")
    assert outcome.error is not None
    assert outcome.error.message.endswith("is not allowed in a regex: it is matched line by line")
    assert "--" not in outcome.error.message


async def test_a_pattern_that_looks_like_an_option_is_a_pattern(tree: Path) -> None:
    (tree / "c.txt").write_text("--files\n")
    assert await found(tree, "--files") == [("c.txt", 1, "--files")]
    assert await found(tree, "-f/etc/passwd", glob="--pre=touch") == []


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """The programs of searches, held: another process cannot be taken for one of them."""
    tie = Tether.tie
    with contextlib.ExitStack() as handles:
        programs: list[int] = []

        def tie_and_note(self: Tether, pid: int) -> None:
            programs.append(os.pidfd_open(pid))
            handles.callback(os.close, programs[-1])
            tie(self, pid)

        monkeypatch.setattr(Tether, "tie", tie_and_note)
        yield programs


def refuse_to_end(monkeypatch: pytest.MonkeyPatch, then: Callable[[], object] = lambda: None) -> None:
    """Have the program stop where it is: it does nothing more by itself, and so does not end by itself."""
    tie = Tether.tie

    def tie_and_stop(self: Tether, pid: int) -> None:
        tie(self, pid)
        os.kill(pid, signal.SIGSTOP)
        then()

    monkeypatch.setattr(Tether, "tie", tie_and_stop)


def is_gone(program: int) -> bool:
    """Whether it has ended, or ends in a moment: the thread that ends it may be a little later than the call."""
    return bool(select.select([program], [], [], 20)[0])


async def test_a_hostile_pattern_costs_no_more_than_others(tree: Path, started: list[int]) -> None:
    """It is matched in time that grows with the text alone; the program is gone when the call is."""
    (tree / "a.txt").write_text("a" * 2_000_000)
    async with asyncio.timeout(60), opened(tree) as gate:
        outcome = await gate.call("search_files", {"pattern": "(a*)*" * 40 + "b"})
        assert outcome.unwrap()["matches"] == []
        assert [is_gone(each) for each in started] == [True]


async def test_a_program_that_does_not_end_is_gone_with_the_time_of_its_call(
    tree: Path, started: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse_to_end(monkeypatch)
    async with asyncio.timeout(60), opened(tree) as gate:
        outcome = await gate.call("search_files", {"pattern": "needle"}, timeout=0.5)
    assert outcome.error is not None
    assert outcome.error.category is Category.TIMEOUT
    assert [is_gone(each) for each in started] == [True]


async def test_a_program_that_does_not_end_is_gone_when_its_call_is_given_up(
    tree: Path, started: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    loop, stopped = asyncio.get_running_loop(), asyncio.Event()
    refuse_to_end(monkeypatch, lambda: loop.call_soon_threadsafe(stopped.set))
    async with asyncio.timeout(60), opened(tree) as gate:
        late = asyncio.Queue[Event]()
        gate.on("tool_call.settled_late", late.put_nowait)
        calling = asyncio.create_task(call(gate, "search_files", pattern="needle"))
        await stopped.wait()
        calling.cancel()
        told = (await late.get()).payload or {}
    assert told["exception"].startswith("TimeoutError: the search took too long")
    assert [is_gone(each) for each in started] == [True]


async def test_a_search_that_takes_too_long_is_given_up(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "time", SimpleNamespace(monotonic=lambda: math.inf))
    outcome = await once(tree, "search_files", pattern="needle")
    assert outcome.error is not None
    assert outcome.error.category is Category.TIMEOUT


async def test_neither_environment_nor_configuration_reaches_it(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    evil = tree / "rc"
    evil.write_text("--follow\n--hidden\n--no-ignore\n")
    monkeypatch.setenv("RIPGREP_CONFIG_PATH", str(evil))
    assert [path for path, _, _ in await found(tree, "needle")] == ["a.py", "sub/b.md"]


async def test_a_link_in_the_place_of_an_ignore_file_tells_nothing(tree: Path, tmp_path_factory: Any) -> None:
    outside = tmp_path_factory.mktemp("outside") / "secrets.txt"
    outside.write_text("a.py\n")
    for name in (".gitignore", ".ignore", ".rgignore", "sub/.gitignore"):
        (tree / name).unlink(missing_ok=True)
        (tree / name).symlink_to(outside)
    assert "a.py" in [path for path, _, _ in await found(tree, "needle")]


async def test_callgates_own_files_are_not_searched(tree: Path) -> None:
    (tree / "callgate.yaml").write_text("version: 1 # needle\n")
    (tree / "own").mkdir()
    (tree / "sub" / "second.md").hardlink_to(tree / "callgate.yaml")
    async with Callgate.open("memory://", tree / "callgate.yaml", working_directory=tree) as plain:
        assert plain.tools() == ()
    gate = Callgate.open("memory://", tree / "callgate.yaml", working_directory=tree, builtin_tools=["files"])
    async with gate:
        output = (await call(gate, "search_files", pattern="needle", glob="*")).unwrap()
    paths = [match["path"] for match in output["matches"]]
    assert "a.py" in paths
    assert not {"callgate.yaml", "sub/second.md"} & set(paths)


async def test_what_the_program_says_and_no_file_has_is_not_told(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Led astray by a link, ripgrep says what lies elsewhere: none of it is passed on."""
    true = Hit("a.py", 10, 2, b"needle = 1\n", 0)
    lies = [
        Hit("a.py", 0, 1, b"root:x:0:0\n", 0),
        Hit("a.py", 10, 7, b"needle = 1\n", 0),
        Hit("a.py", 10, 2, b"needle = \n", 0),
        Hit("a.py", 21, 3, b"behind its end\n", 0),
        Hit("a.py", 21, 3, b"\n", 0),
        Hit("/etc/passwd", 0, 1, b"root:x:0:0\n", 0),
        Hit("a.py", 900, 9, b"beyond\n", 0),
        Hit("../outside", 0, 1, b"climbs\n", 0),
        Hit("sub", 0, 1, b"a directory\n", 0),
        Hit("sub/../a.py", 10, 2, b"needle = 1\n", 0),
        Hit("gone.txt", 0, 1, b"gone\n", 0),
    ]

    def said(*_: Any, take: Callable[[list[Hit]], None], **__: Any) -> Looked:
        take(sorted([true, *lies]))
        take([Hit("sub/b.md", 12, 3, b"Needle\n", 0), Hit("sub/b.md", 0, 1, b"# A needle\n", 0)])  # backwards
        return Looked.AT_EVERYTHING

    monkeypatch.setattr(search, "find", said)
    assert await found(tree, "needle") == [("a.py", 2, "needle = 1"), ("sub/b.md", 3, "Needle")]


async def test_a_file_that_grows_while_it_is_read_is_read_in_large_pieces(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pread, log, reads = os.pread, tree / "a.log", list[int]()
    log.write_bytes(b"x\n")

    def reading(fd: int, length: int, start: int) -> bytes:
        if not reads:
            log.write_bytes(b"x\n" * 2_000_000 + b"needle\n")  # since it was opened
        reads.append(length)
        return pread(fd, length, start)

    def said(*_: Any, take: Callable[[list[Hit]], None], **__: Any) -> Looked:
        monkeypatch.setattr(os, "pread", reading)
        take([Hit("a.log", 4_000_000, 2_000_001, b"needle\n", 0)])
        return Looked.AT_EVERYTHING

    monkeypatch.setattr(search, "find", said)
    assert await found(tree, "needle") == [("a.log", 2_000_001, "needle")]
    assert len(reads) < 10


@pytest.mark.parametrize("limit", ["_MOST_HITS", "_MOST_OUTPUT"])
async def test_more_than_can_be_held_is_cut(tree: Path, monkeypatch: pytest.MonkeyPatch, limit: str) -> None:
    monkeypatch.setattr(ripgrep, limit, 0)
    output = (await once(tree, "search_files", pattern="needle")).unwrap()
    assert output["truncated"] is True


async def test_a_program_that_is_ended_has_not_looked_at_everything(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it had found by then is not told as if it were all."""
    real = find_program("rg")
    ended = tmp_path / "ended"
    ended.write_text(f'#!/bin/sh\n{real} "$@"\nkill -9 $$\n')
    ended.chmod(0o700)

    def this(*_: object, **__: object) -> str:
        return str(ended)

    monkeypatch.setattr(ripgrep, "find_program", this)
    outcome = await once(tree, "search_files", pattern="needle")
    assert outcome.status == "failed"
    assert "before it had looked at everything" in str(outcome)


async def test_without_the_program_it_says_how_to_install_it(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def nowhere(*_: Any) -> None:
        return None

    async with opened(tree) as gate:
        monkeypatch.setattr(ripgrep, "find_program", nowhere)
        assert "callgate[files]" in str(await call(gate, "search_files", pattern="needle"))
    monkeypatch.setattr("callgate.tools.catalogue.find_program", nowhere)
    async with opened(tree) as gate:
        [tool] = [tool for tool in gate.tools() if tool.name == "search_files"]
        assert "callgate[files]" in (tool.unavailable or "")


def test_a_program_is_not_looked_for_where_the_process_happens_to_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "some-tool").write_text("#!/bin/sh\n")
    (tmp_path / "some-tool").chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f".{os.pathsep}{os.pathsep}bin")
    assert find_program("some-tool") is None
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_program("some-tool") == str(tmp_path / "some-tool")


async def test_what_is_not_there_says_so(tree: Path) -> None:
    outcome = await once(tree, "search_files", pattern="a", path="nothing")
    assert outcome.error is not None
    assert outcome.error.category is Category.RESOURCE
