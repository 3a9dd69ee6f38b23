"""Looking at a store that is not there: it is an error, and nothing is made."""

from pathlib import Path

import pytest

from callgate import Callgate
from callgate.errors import KeyMissing, StoreError
from callgate.stores.sqlite import SqliteStore
from tests.contracts.makers import HandClock


def url(path: Path) -> str:
    return f"sqlite:///{path}"


def files(folder: Path) -> list[tuple[str, int]]:
    """What lies there, and how large it is."""
    return [(str(file.relative_to(folder)), file.stat().st_size) for file in folder.rglob("*") if file.is_file()]


async def test_a_store_that_is_not_there_is_not_made_by_looking(tmp_path: Path, home: Path) -> None:
    path = tmp_path / "typo" / "callgate.db"
    with pytest.raises(StoreError, match=f"there is no store at {path}"):
        await Callgate.look(url(path)).__aenter__()
    assert not files(tmp_path)
    assert not files(home)


async def test_an_empty_file_is_no_store_to_look_at(tmp_path: Path) -> None:
    path = tmp_path / "callgate.db"
    path.touch()
    with pytest.raises(StoreError, match="there is no store"):
        await Callgate.look(url(path)).__aenter__()
    assert files(tmp_path) == [("callgate.db", 0)]


async def test_looking_makes_no_key_for_a_store_whose_maker_died_before_it_had_one(tmp_path: Path, home: Path) -> None:
    path = tmp_path / "callgate.db"
    store = SqliteStore(path, clock=HandClock())
    await store.open()
    await store.close()
    with pytest.raises(KeyMissing):
        await Callgate.look(url(path)).__aenter__()
    assert not files(home)
    async with Callgate.open(url(path)):
        assert files(home)
    async with Callgate.look(url(path)) as gate:
        assert (await gate.verify_audit()).ok
