"""Journeys that are told on every store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.journeys import gates


@pytest.fixture(params=["memory", "sqlite"])
def on_each_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Let `gate_of` open gates on this store, for as long as this test runs."""
    url = "memory://" if request.param == "memory" else f"sqlite:///{tmp_path / 'gate.db'}"
    gates.use(url)
    yield url
    gates.use("memory://")
