"""A store is opened with the key it was made with, whatever was removed from it, and never with a new one."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from callgate import Callgate, tool
from callgate.errors import ConfigurationError, KeyMissing
from callgate.runtime.clock import SystemClock
from callgate.stores.open import open_store


@tool(effects="system_state", risk="low")
async def post_letter(to: str) -> str:
    """Post a letter."""
    return f"posted to {to}"


def gate_on(file: Path) -> Callgate:
    gate = Callgate.open(f"sqlite:///{file}", working_directory=file.parent)
    gate.add(post_letter)
    return gate


def change(file: Path, *statements: str) -> None:
    with closing(sqlite3.connect(file)) as db, db:
        for statement in statements:
            db.execute(statement)


@pytest.fixture
async def used(tmp_path: Path) -> Path:
    """A store with a past, whose key id somebody removed."""
    file = tmp_path / "store.db"
    async with gate_on(file) as gate:
        assert (await gate.call("post_letter", {"to": "Ada"})).ok
    change(file, "DELETE FROM meta WHERE name = 'key_id'")
    return file


def forget_keys(home: Path) -> None:
    shutil.rmtree(home / ".config")


def recorded(file: Path) -> list[tuple[str, ...]]:
    with closing(sqlite3.connect(file)) as db:
        return db.execute("SELECT type FROM events ORDER BY position").fetchall()


def keys_in(home: Path) -> list[Path]:
    return list(home.rglob("*.key"))


async def test_where_the_key_is_the_store_opens_and_still_verifies(used: Path):
    async with gate_on(used) as gate:
        report = await gate.verify_audit()
        assert report.ok, report.problems


async def test_on_a_machine_without_the_key_no_new_one_is_made(used: Path, home: Path):
    forget_keys(home)
    with pytest.raises(KeyMissing, match="which is not in"):
        async with gate_on(used):
            pass
    assert not keys_in(home)


@pytest.mark.parametrize("key", [None, "not a key", "0" * 64], ids=["none", "no key", "another"])
async def test_without_its_key_nothing_is_written_into_a_store(
    key: str | None, tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
):
    file = tmp_path / "store.db"
    async with gate_on(file) as gate:
        assert (await gate.call("post_letter", {"to": "Ada"})).ok
    before = recorded(file)
    (home / ".config").rename(home / "away")
    if key is not None:
        monkeypatch.setenv("CALLGATE_KEY", key)
    for _ in range(2):
        with pytest.raises(ConfigurationError):
            async with gate_on(file):
                pass
    assert recorded(file) == before
    monkeypatch.delenv("CALLGATE_KEY", raising=False)
    (home / "away").rename(home / ".config")
    async with gate_on(file) as gate:
        assert (await gate.call("post_letter", {"to": "Bob"})).ok
        assert (await gate.verify_audit()).ok


async def test_without_a_signature_either_it_says_what_to_do(used: Path, home: Path):
    change(used, "DELETE FROM checkpoints")
    forget_keys(home)
    with pytest.raises(KeyMissing, match="restore the store from a backup"):
        async with gate_on(used):
            pass
    assert not keys_in(home)


async def test_rows_alone_are_a_past(used: Path, home: Path):
    change(used, "DROP TRIGGER events_stay", "DELETE FROM events", "DELETE FROM streams", "DELETE FROM checkpoints")
    forget_keys(home)
    with pytest.raises(KeyMissing, match="no longer says"):
        async with gate_on(used):
            pass


async def test_a_first_opening_that_found_no_key_can_be_repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    file = tmp_path / "store.db"
    monkeypatch.setenv("CALLGATE_KEY", "not a key")
    with pytest.raises(ConfigurationError):
        async with gate_on(file):
            pass
    monkeypatch.delenv("CALLGATE_KEY")
    async with gate_on(file) as gate:
        assert (await gate.call("post_letter", {"to": "Ada"})).ok


async def test_a_store_that_was_only_opened_by_hand_gets_its_first_key(tmp_path: Path):
    file = tmp_path / "store.db"
    store = open_store(f"sqlite:///{file}", clock=SystemClock())
    await store.open()
    await store.close()
    async with gate_on(file) as gate:
        assert (await gate.verify_audit()).ok
