"""What github_read keeps: only for who read it with that token, and only used when GitHub says it is unchanged."""

from __future__ import annotations

import asyncio
import sqlite3
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from callgate import Callgate, Context
from callgate.tools.github.cache import Drawer, Kept, MemoryShelf, Shelf
from callgate.tools.github.shelf_file import FileShelf
from tests.tools.github.hub import MEGABYTE, TOKEN, VARIABLE, Hub, as_json, gate_for, hub_open
from tests.tools.outbound.site import serving

FILE = {"repo": "octo/app", "path": "a.py"}
PLACE = "/repos/octo/app/contents/a.py"
OTHER_TOKEN = "ghp_other0123456789abcdefghijABCDEFGHIJ0"
Opened = tuple[Hub, Callgate]


@pytest.fixture
async def opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[Opened]:
    monkeypatch.setenv(VARIABLE, TOKEN)
    async with hub_open(tmp_path) as both:
        yield both


def tags(hub: Hub) -> list[str | None]:
    return [asked.headers.get("if-none-match") for asked in hub.site.asked]


async def read(gate: Callgate, context: Context | None = None) -> tuple[Any, Any, Any]:
    told = (await gate.call("github_read", FILE, context)).unwrap()
    return told["content"], told["from_cache"], told["source"]


async def test_a_file_that_did_not_change_is_not_sent_again(opened: Opened) -> None:
    hub, gate = opened
    sha = hub.file("octo/app", "a.py", b"one")
    assert await read(gate) == ("one", False, "api")
    assert await read(gate) == ("one", True, "cache")
    hub.file("octo/app", "a.py", b"two")
    assert await read(gate) == ("two", False, "api")
    assert await read(gate) == ("two", True, "cache")
    assert tags(hub)[:2] == [None, f'W/"{sha}"']


async def test_a_large_file_is_not_fetched_again_either(opened: Opened) -> None:
    hub, gate = opened
    large = b"y" * (2 * MEGABYTE)
    hub.file("octo/app", "a.py", large)
    assert await read(gate) == (large.decode(), False, "raw")
    assert await read(gate) == (large.decode(), True, "cache")
    assert len(hub.site.asked) == 3


async def test_nobody_gets_what_another_read(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    hub, gate = opened
    hub.tokens.add(OTHER_TOKEN)
    hub.file("octo/app", "a.py", b"one")
    for who in (Context(), Context(principal="other"), Context(user="anna"), Context(user="ben")):
        assert await read(gate, who) == ("one", False, "api")
        assert await read(gate, who) == ("one", True, "cache")
    monkeypatch.setenv(VARIABLE, OTHER_TOKEN)
    assert await read(gate) == ("one", False, "api")
    assert tags(hub)[::2] == [None] * 5


@pytest.mark.parametrize("status", ["404 Not Found", "401 Unauthorized", "403 Forbidden"])
async def test_whoever_may_no_longer_read_it_keeps_nothing(opened: Opened, status: str) -> None:
    hub, gate = opened
    hub.file("octo/app", "a.py", b"one")
    await read(gate)
    there = hub.site.answers[PLACE]
    hub.site.answers[PLACE] = as_json({"message": "no"}, status=status)
    assert not (await gate.call("github_read", FILE)).ok
    hub.site.answers[PLACE] = there
    assert await read(gate) == ("one", False, "api")


async def test_with_a_lasting_store_it_is_kept_for_the_next_process_and_unreadable_to_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, TOKEN)
    store = f"sqlite:///{tmp_path}/callgate.db"
    async with serving() as site:
        hub = Hub(site)
        hub.file("octo/app", "a.py", b"a private text")
        for expected in (("a private text", False, "api"), ("a private text", True, "cache")):
            async with gate_for(site, tmp_path, store=store) as gate:
                assert await read(gate) == expected
        [file] = below(tmp_path, "github.db*")
        written = content_of(file)
        for secret in (b"private text", TOKEN.encode(), b"octo/app", b"main"):
            assert secret not in written
        write(file, b"no database at all" * 1000)
        async with gate_for(site, tmp_path, store=store) as gate:
            assert await read(gate) == ("a private text", False, "api")
            assert await read(gate) == ("a private text", True, "cache")


def below(folder: Path, pattern: str) -> list[Path]:
    return sorted(folder.rglob(pattern))


def content_of(file: Path) -> bytes:
    assert file.stat().st_mode & 0o077 == 0
    return file.read_bytes()


def write(file: Path, content: bytes) -> None:
    file.write_bytes(content)


def kept(content: bytes) -> Kept:
    return Kept(etag='W/"1"', sha="0" * 40, content=content)


def drawer(shelf: Shelf, who: str = "agent", *, token: str = TOKEN) -> Drawer:
    return Drawer(shelf, token=token, who=(who, None), url="https://api.example/x")


@pytest.fixture(params=["memory", "file"])
def shelf(request: pytest.FixtureRequest, tmp_path: Path) -> Shelf:
    return MemoryShelf(1000) if request.param == "memory" else FileShelf(tmp_path / "x" / "shelf.db", most=1000)


def test_a_shelf_gives_what_was_laid_there(shelf: Shelf) -> None:
    assert drawer(shelf).find() is None
    drawer(shelf).keep(kept(b"one\ntwo"))
    assert drawer(shelf).find() == kept(b"one\ntwo")
    assert drawer(shelf, "other").find() is None
    assert drawer(shelf, token=OTHER_TOKEN).find() is None
    drawer(shelf).keep(kept(b""))
    assert drawer(shelf).find() == kept(b"")
    drawer(shelf).forget()
    assert drawer(shelf).find() is None


def test_a_shelf_is_bounded_and_what_was_not_used_goes_first(shelf: Shelf) -> None:
    for name in ("a", "b", "c"):
        shelf.put(name, b"x" * 300)
    assert shelf.get("a") is not None
    shelf.put("d", b"x" * 300)
    assert [name for name in ("a", "b", "c", "d") if shelf.get(name) is not None] == ["a", "c", "d"]
    shelf.put("e", b"x" * 1001)
    assert shelf.get("e") is None


class Watched(MemoryShelf):
    """Remembers what was laid there."""

    def __init__(self) -> None:
        super().__init__()
        self.laid: list[tuple[str, bytes]] = []

    def put(self, name: str, sealed: bytes) -> None:
        self.laid.append((name, sealed))
        super().put(name, sealed)


def test_an_entry_that_was_changed_or_exchanged_counts_for_nothing() -> None:
    shelf = Watched()
    drawer(shelf).keep(kept(b"one"))
    drawer(shelf, "other").keep(kept(b"two"))
    [(name, sealed), (other, _)] = list(shelf.laid)
    shelf.put(other, sealed)
    assert drawer(shelf, "other").find() is None
    for broken in (b"", b"x", sealed[:-1], sealed[:-1] + bytes([sealed[-1] ^ 1])):
        shelf.put(name, broken)
        assert drawer(shelf).find() is None
        assert shelf.get(name) is None


def test_a_file_of_another_version_is_made_anew(tmp_path: Path) -> None:
    file = tmp_path / "shelf.db"
    FileShelf(file, most=1000).put("a", b"x")
    with closing(sqlite3.connect(file)) as other:
        other.execute("PRAGMA user_version = 99")
    assert FileShelf(file, most=1000).get("a") is None
    FileShelf(file, most=1000).put("a", b"y")
    assert FileShelf(file, most=1000).get("a") == b"y"


@pytest.mark.parametrize(
    "done",
    [
        "DROP TABLE entries",
        "ALTER TABLE entries DROP COLUMN used_at",
        "ALTER TABLE entries RENAME TO others; CREATE VIEW entries AS SELECT * FROM others",
        "CREATE TRIGGER x BEFORE INSERT ON entries BEGIN SELECT RAISE(IGNORE); END",
        "CREATE TABLE others (x)",
    ],
    ids=["none", "column", "view", "trigger", "more"],
)
async def test_a_file_of_another_form_is_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, done: str) -> None:
    monkeypatch.setenv(VARIABLE, TOKEN)
    async with serving() as site, gate_for(site, tmp_path, store=f"sqlite:///{tmp_path}/callgate.db") as gate:
        Hub(site).file("octo/app", "a.py", b"one")
        await read(gate)
        change(tmp_path, done)
        assert await read(gate) == ("one", False, "api")
        assert await read(gate) == ("one", True, "cache")
        assert rows_of(tmp_path, "SELECT name FROM sqlite_schema") == [("entries",)]


@pytest.mark.parametrize(
    "forged",
    [
        *("sealed = 'a text'", "sealed = CAST(x'ff' AS TEXT)", "sealed = 7", "sealed = x'00'"),
        *("sealed = zeroblob(70000000)", "size = 9223372036854775807", "size = 'a text'", "used_at = 'a text'"),
    ],
    ids=["text", "no-text", "number", "short", "large", "odd-size", "text-size", "text-time"],
)
async def test_a_forged_row_costs_the_entry_and_not_the_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, forged: str
) -> None:
    monkeypatch.setenv(VARIABLE, TOKEN)
    async with serving() as site, gate_for(site, tmp_path, store=f"sqlite:///{tmp_path}/callgate.db") as gate:
        hub = Hub(site)
        hub.file("octo/app", "a.py", b"one")
        await read(gate)
        change(tmp_path, f"UPDATE entries SET {forged}")
        hub.file("octo/app", "a.py", b"two")
        assert await read(gate) == ("two", False, "api")
        assert await read(gate) == ("two", True, "cache")
        [(kind, size)] = rows_of(tmp_path, "SELECT typeof(sealed), length(sealed) FROM entries")
        assert (kind, size < 1000) == ("blob", True)


def change(folder: Path, done: str) -> None:
    [file] = below(folder, "github.db")
    with closing(sqlite3.connect(file)) as other:
        other.executescript(done)


def rows_of(folder: Path, query: str) -> list[Any]:
    [file] = below(folder, "github.db")
    with closing(sqlite3.connect(file)) as other:
        return other.execute(query).fetchall()


@pytest.mark.parametrize(
    "tag",
    ['"\u2713"'.encode(), b'"\x85"', b'"' + b"x" * 9000 + b'"', b'"a"b"', b"bare", b'"a b"', b'w/"a"', b'"a", "b"'],
    ids=["sign", "control", "long", "quotes", "bare", "space", "small", "two"],
)
async def test_a_file_whose_tag_cannot_be_sent_back_is_read_anew_each_time(opened: Opened, tag: bytes) -> None:
    hub, gate = opened
    told = as_json({"type": "file", "size": 3, "sha": "0" * 40, "encoding": "base64", "content": "b25l"})
    head, _, body = told.partition(b"\r\n\r\n")
    hub.site.answers[PLACE] = head + b"\r\netag: " + tag + b"\r\n\r\n" + body
    for _ in range(2):
        assert await read(gate) == ("one", False, "api")
    assert tags(hub) == [None, None]


def test_a_file_that_is_broken_in_the_middle_is_made_anew(tmp_path: Path) -> None:
    file = tmp_path / "shelf.db"
    shelf = FileShelf(file, most=10**6)
    for at in range(50):
        shelf.put(f"{at}", b"x" * 1000)
    whole = file.read_bytes()
    file.write_bytes(whole[:4096] + b"\xff" * (len(whole) - 4096))
    for at in range(50):
        shelf.get(f"{at}")
    shelf.put("a", b"y")
    assert shelf.get("a") == b"y"
    with closing(sqlite3.connect(file)) as other:
        assert other.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_a_file_that_cannot_be_used_is_done_without(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    for place in (tmp_path / "file" / "shelf.db", tmp_path):
        shelf = FileShelf(place, most=1000)
        shelf.put("a", b"x")
        shelf.drop("a")
        assert shelf.get("a") is None
    assert (tmp_path / "file").read_text() == "in the way"


def test_a_file_that_somebody_holds_costs_the_entry_and_not_the_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("callgate.tools.github.shelf_file._PATIENCE", 0.01)
    shelf = FileShelf(tmp_path / "shelf.db", most=1000)
    shelf.put("a", b"x")
    with closing(sqlite3.connect(tmp_path / "shelf.db", isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        shelf.put("b", b"y")
        other.execute("ROLLBACK")
    assert (shelf.get("a"), shelf.get("b")) == (b"x", None)


async def test_two_processes_use_one_file(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from callgate.tools.github import shelf_file;"
        "shelf_file._PATIENCE = 60.0; shelf = shelf_file.FileShelf(Path(sys.argv[1]), most=10**6);"
        "[shelf.put(f'{sys.argv[2]}{at}', b'x' * 50) for at in range(60)]"
    )
    file = tmp_path / "shelf.db"
    words = [[sys.executable, "-c", code, str(file), name] for name in ("a", "b")]
    await asyncio.gather(*(asyncio.to_thread(subprocess.run, each, check=True) for each in words))
    shelf = FileShelf(file, most=10**6)
    assert [name for name in ("a0", "a59", "b0", "b59") if shelf.get(name) is None] == []
    with closing(sqlite3.connect(file)) as other:
        assert other.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert other.execute("SELECT count(*) FROM entries").fetchone() == (120,)
