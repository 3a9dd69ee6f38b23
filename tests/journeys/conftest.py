"""Journeys that are told on every store."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.journeys import gates


@pytest.fixture(params=["memory", "sqlite"])
def on_each_store(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Let `gate_of` open gates on this store."""
    url = "memory://" if request.param == "memory" else f"sqlite:///{tmp_path / 'gate.db'}"
    gates.use(url)
    return url
