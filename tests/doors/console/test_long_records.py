"""Pages over a long record: the store finds what a page shows, and what it does not show is not read."""

import json
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest

from callgate import Callgate, Context
from callgate.serve.console import replay
from tests.doors.console.conftest import Console, console_of

RARE, OTHERS = Context(principal="rare", session="quiet"), Context(principal="busy", session="loud")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "gate.db"


@pytest.fixture
async def console(file: Path) -> AsyncIterator[Console]:
    async with console_of(Callgate.open(f"sqlite:///{file}")) as found:
        await found.ask(context=RARE)
        await found.gate.call("send_letter", {"to": "ann"}, RARE)
        for number in range(12):
            await found.gate.call("word_count", {"text": str(number)}, OTHERS)
        for name in ("bob", "cem"):
            await found.gate.call("send_letter", {"to": name}, OTHERS)
        await found.gate.calls()
        yield found


def _spoil(file: Path, *statements: str) -> None:
    with closing(sqlite3.connect(file)) as db, db:
        for statement in statements:
            db.execute(statement)


_ENTRIES = "UPDATE projections SET body = 'spoilt' WHERE principal <> 'rare'"
"""Whoever reads one of these fails."""


@pytest.mark.parametrize(
    "wanted", ["principal=rare", "session=quiet", "session=quiet&tool=pay", "principal=rare&status=pending", "tool=pay"]
)
async def test_calls_are_found_without_reading_those_of_others(console: Console, file: Path, wanted: str):
    async with console.signed_in() as client:
        _spoil(file, _ENTRIES)
        text = (await client.get(f"/calls?{wanted}")).text
        assert text.count('href="/calls/0') == (1 if "tool" in wanted or "status" in wanted else 2)


async def test_one_calls_story_is_found_without_reading_those_of_others(console: Console, file: Path):
    asked, sent = await console.gate.calls(principal="rare")
    async with console.signed_in() as client:
        _spoil(file, _ENTRIES)
        assert "A person has to decide first" in (await client.get(f"/calls/{asked['call']}")).text
        assert "Nobody knows whether it happened" in (await client.get(f"/calls/{sent['call']}")).text


async def test_an_older_page_of_calls_is_found_without_reading_the_newer(
    console: Console, file: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("callgate.serve.console.calls._PAGE", 14)
    async with console.signed_in() as client:
        _spoil(file, _ENTRIES)
        assert (await client.get("/calls?page=2")).text.count('href="/calls/0') == 2


async def test_one_unknown_outcome_is_found_without_reading_the_others(console: Console, file: Path):
    (call,) = [each["call"] for each in await console.gate.calls(principal="rare", tool="send_letter")]
    async with console.signed_in() as client:
        _spoil(file, "UPDATE attempts SET happened = 'perhaps' WHERE principal <> 'rare'")
        assert "send_letter" in (await client.get(f"/outcomes/{call}")).text


async def test_figures_are_counted_by_the_store(console: Console, file: Path):
    async with console.signed_in() as client:
        _spoil(file, "UPDATE projections SET body = 'spoilt'")
        assert "word_count" in (await client.get("/health")).text
        body = (await client.get("/health/figures")).json()
    assert {name: sum(row) for name, row in body["ends"].items()} == {
        "succeeded": 12,
        "refused": 0,
        "failed": 0,
        "unknown": 3,
        "waiting": 1,
    }


async def test_figures_have_what_happened_before_the_page_was_asked_for(console: Console):
    async with console.signed_in() as client:
        first = json.loads((await client.get("/health/figures")).text)
        assert json.loads((await client.get("/health/figures")).text) == first
        await console.gate.call("word_count", {"text": "a"}, OTHERS)
        again = (await client.get("/health/figures")).json()
    assert sum(again["ends"]["succeeded"]) == sum(first["ends"]["succeeded"]) + 1


async def test_replay_looks_at_the_newest_calls_and_says_how_many_it_left_out(
    console: Console, monkeypatch: pytest.MonkeyPatch
):
    async with console.signed_in() as client:
        assert "more were made in it" not in (await client.get("/policy/replay")).text
        monkeypatch.setattr(replay, "_REPLAYED", 3)
        text = (await client.get("/policy/replay")).text
    assert "13 more were made in it" in text
    assert "<dt>Calls</dt><dd>3</dd>" in text
    assert text.count('href="/calls/0') == 1  # two letters are allowed as before, and one text was not kept
