"""Journeys that are told with each provider's SDK, whole and streamed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.frameworks.providers import PROVIDERS, Provider


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no SDK find a key or an address of whoever runs the tests."""
    for name in ("API_KEY", "BASE_URL", "AUTH_TOKEN", "CUSTOM_HEADERS", "PROFILE"):
        monkeypatch.delenv(f"ANTHROPIC_{name}", raising=False)
        monkeypatch.delenv(f"OPENAI_{name}", raising=False)


@pytest.fixture(params=list(PROVIDERS))
def provider(request: pytest.FixtureRequest) -> Provider:
    """Each API in its turn."""
    return PROVIDERS[request.param]


@pytest.fixture(params=["whole", "streamed"])
def on_event(request: pytest.FixtureRequest) -> Iterator[object]:
    """None, or what takes the events of streamed responses; then there must have been some."""
    if request.param == "whole":
        yield None
        return
    events: list[object] = []
    yield events.append
    assert events
