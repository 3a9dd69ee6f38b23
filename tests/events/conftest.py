"""A store to record in, and what goes with it."""

from collections.abc import AsyncIterator

import pytest

from callgate.ports import Store
from callgate.stores.memory import MemoryStore
from tests.events.stories import HandClock, HouseKeys


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def keys() -> HouseKeys:
    return HouseKeys()


@pytest.fixture
async def store(clock: HandClock) -> AsyncIterator[Store]:
    opened = MemoryStore(clock=clock)
    await opened.open()
    yield opened
    await opened.close()
