"""One suite, every store: what a test here asks for is opened over memory and over SQLite."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from callgate.ports import Store
from callgate.stores.memory import MemoryStore
from callgate.stores.sqlite import SqliteStore
from tests.contracts.makers import HandClock

READINGS = 8
"""How many readings the stores of these tests keep."""


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture(params=["memory", "sqlite"])
def unopened(request: pytest.FixtureRequest, clock: HandClock, tmp_path: Path) -> Store:
    if request.param == "memory":
        return MemoryStore(clock=clock, producer="contract", readings=READINGS)
    return SqliteStore(tmp_path / "store" / "callgate.db", clock=clock, producer="contract", readings=READINGS)


@pytest.fixture
async def store(unopened: Store) -> AsyncIterator[Store]:
    await unopened.open()
    yield unopened
    await unopened.close()
