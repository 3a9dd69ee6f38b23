"""A store to record in, and what goes with it."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from callgate.events.anchor import AnchorFile
from callgate.ports import Store
from tests.events.houses import House, MemoryHouse, SqliteHouse
from tests.events.offices import Office, furnish
from tests.events.stories import HandClock, HouseKeys


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def keys() -> HouseKeys:
    return HouseKeys()


@pytest.fixture(params=["memory", "sqlite"])
async def house(request: pytest.FixtureRequest, clock: HandClock, tmp_path: Path) -> AsyncIterator[House]:
    made = MemoryHouse(clock) if request.param == "memory" else SqliteHouse(clock, tmp_path / "store" / "callgate.db")
    await made.open()
    yield made
    await made.close()


@pytest.fixture
async def store(house: House) -> Store:
    return await house.open()


@pytest.fixture
def anchors(tmp_path: Path, store: Store) -> AnchorFile:
    return AnchorFile(tmp_path / "keys", store.store_id)


@pytest.fixture
async def office(store: Store, keys: HouseKeys, clock: HandClock, tmp_path: Path) -> Office:
    return await furnish(Office(store, keys, clock, tmp_path / "evidence"))
