"""What the tests of the agents share."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import pytest

from tests.tools.agents.desks import KEY
from tests.tools.outbound.site import Site, serving


@pytest.fixture
async def site(monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[Site]:
    """Model, search and web in one, and the key of the model."""
    monkeypatch.setenv("CALLGATE_SECRET_MODEL_KEY", KEY)
    async with serving() as served:
        yield served
