"""Tools that ask any place they are told to: what one place does stops no call to others. TOOL-02."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncGenerator, Generator
from pathlib import Path
from typing import Any

import pytest

from callgate import Callgate, Context
from callgate.model.levels import Autonomy, HealthStatus
from tests.tools.outbound.site import Site, page, serving

ARTICLE = "<html><body><article><p>All is well here, and long enough to be text.</p></article></body></html>"
AT_WILL = Context(autonomy=Autonomy.A4)
OPENS = 5
"""So many errors in a row would open a circuit."""


@pytest.fixture
async def site() -> AsyncGenerator[Site]:
    async with serving() as served:
        served.answers["/well"] = page(ARTICLE)
        yield served


@pytest.fixture
def nobody() -> Generator[str]:
    """An address at which nobody listens, and nobody else will."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{held.getsockname()[1]}/"


@pytest.fixture
async def gate(tmp_path: Path, site: Site) -> AsyncGenerator[Callgate]:
    config = tmp_path / "callgate.yaml"
    config.write_text(
        "scopes: {net: {private_addresses: true}}\n"
        f'builtin_tools: {{enable: [web], web: {{wikipedia: "{site.url("/w/api.php")}"}}}}\n'
    )
    async with Callgate.open("memory://", config) as opened:
        yield opened


async def fails_often(gate: Callgate, name: str, url: str, **limits: Any) -> None:
    calls = (gate.call(name, {"url": url}, AT_WILL, **limits) for _ in range(OPENS))
    assert not any(outcome.ok for outcome in await asyncio.gather(*calls))


async def answers_elsewhere(gate: Callgate, name: str, site: Site) -> bool:
    return (await gate.call(name, {"url": site.url("/well")}, AT_WILL)).ok


@pytest.mark.parametrize("status", ["503 Down", "429 Too Many"])
@pytest.mark.parametrize("name", ["web_fetch", "fetch_docs"])
async def test_a_page_that_fails_again_and_again_stops_no_call_to_others(
    gate: Callgate, site: Site, name: str, status: str
) -> None:
    site.answers["/busy"] = page("later", status=status, more="retry-after: 3600\r\n")
    await fails_often(gate, name, site.url("/busy"))
    assert await answers_elsewhere(gate, name, site)
    assert gate.health(name).status is HealthStatus.HEALTHY


@pytest.mark.parametrize("name", ["http_get", "http_post", "web_fetch", "fetch_docs"])
async def test_a_place_where_nobody_is_stops_no_call_to_others(
    gate: Callgate, site: Site, nobody: str, name: str
) -> None:
    await fails_often(gate, name, nobody)
    assert await answers_elsewhere(gate, name, site)


@pytest.mark.parametrize("name", ["http_get", "http_post", "web_fetch", "fetch_docs"])
async def test_a_place_that_breaks_off_stops_no_call_to_others(gate: Callgate, site: Site, name: str) -> None:
    site.answers["/short"] = b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 100\r\n\r\nabc"
    await fails_often(gate, name, site.url("/short"))
    assert await answers_elsewhere(gate, name, site)


@pytest.mark.parametrize("name", ["http_get", "http_post", "web_fetch", "fetch_docs"])
async def test_a_place_that_says_nothing_until_the_call_ends_stops_no_call_to_others(
    gate: Callgate, site: Site, name: str
) -> None:
    async def silent(_writer: asyncio.StreamWriter) -> None:
        await asyncio.Event().wait()

    site.answers["/silent"] = silent
    await fails_often(gate, name, site.url("/silent"), timeout=0.3)
    assert await answers_elsewhere(gate, name, site)


async def test_a_service_that_a_tool_always_asks_is_left_alone_after_it_failed_often(
    gate: Callgate, site: Site
) -> None:
    site.answers["/w/api.php"] = page("{}", "application/json", status="503 Down", more="retry-after: 3600\r\n")
    assert not (await gate.call("fetch_wikipedia", {"title": "Call gate"})).ok
    outcome = await gate.call("fetch_wikipedia", {"title": "Call gate"})
    assert outcome.error is not None
    assert outcome.error.code == "tool_unavailable"
    assert len(site.asked) == 1
