"""GitHub's limits: kept through the health of the connector, without asking GitHub again. TOOL-19."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from email.utils import formatdate
from pathlib import Path

import pytest

from callgate import Callgate
from callgate.model.levels import Category, HealthStatus
from callgate.testing import HandClock
from tests.tools.github.hub import TOKEN, VARIABLE, Hub, as_json, hub_open, limited
from tests.tools.outbound.outcomes import category_of

FILE = {"repo": "octo/app", "path": "a.py"}
PLACE = "/repos/octo/app/contents/a.py"
Opened = tuple[Hub, Callgate, HandClock]


@pytest.fixture
async def opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[Opened]:
    monkeypatch.setenv(VARIABLE, TOKEN)
    clock = HandClock()
    async with hub_open(tmp_path, clock) as (hub, gate):
        yield hub, gate, clock


def none_left(clock: HandClock, seconds: float, *, ahead: float = 0.0) -> str:
    """Headers that say: no request is left for so long; by a clock that is ahead of ours."""
    there = clock.now() + ahead
    return (
        f"x-ratelimit-remaining: 0\r\nx-ratelimit-reset: {int(there + seconds)}\r\n"
        f"date: {formatdate(there, usegmt=True)}\r\n"
    )


@pytest.mark.parametrize(
    ("case", "seconds"),
    [("primary", 1800), ("ahead", 1800), ("behind", 1800), ("after", 120), ("secondary", 60), ("too-many", 60)],
)
async def test_a_limit_stops_calls_until_it_ends_and_then_lets_them_go_on(
    opened: Opened, case: str, seconds: float
) -> None:
    """TOOL-19."""
    hub, gate, clock = opened
    told = {
        "primary": limited(more=none_left(clock, 1800)),
        "ahead": limited(more=none_left(clock, 1800, ahead=7200)),
        "behind": limited(more=none_left(clock, 1800, ahead=-7200)),
        "after": limited(more="retry-after: 120\r\n"),
        "secondary": limited(message="You have exceeded a secondary rate limit. Please wait."),
        "too-many": limited("429 Too Many Requests", message="slow down"),
    }
    hub.site.answers[PLACE] = told[case]
    first = await gate.call("github_read", FILE)
    assert category_of(first) is Category.API
    assert first.error is not None
    assert first.error.retryable
    health = gate.health("github")
    assert health.status is HealthStatus.UNAVAILABLE
    assert health.rate_limit_resets_at == pytest.approx(clock.now() + seconds, abs=3)
    second = await gate.call("github_read", FILE)
    assert second.status == "refused"
    assert "rate limited until" in str(second)
    assert len(hub.site.asked) == 1
    clock.turn(seconds + 5)
    hub.file("octo/app", "a.py", b"x")
    assert (await gate.call("github_read", FILE)).ok
    assert gate.health("github").status is HealthStatus.HEALTHY


async def test_where_none_is_left_the_next_is_not_spent(opened: Opened) -> None:
    hub, gate, clock = opened
    hub.file("octo/app", "a.py", b"x")
    hub.more = none_left(clock, 600)
    assert (await gate.call("github_read", FILE)).ok
    for status in ("failed", "refused"):
        assert (await gate.call("github_read", FILE)).status == status
    assert len(hub.site.asked) == 1
    clock.turn(610)
    hub.more = ""
    assert (await gate.call("github_read", FILE)).ok


async def test_searches_are_counted_apart(opened: Opened) -> None:
    hub, gate, clock = opened
    hub.file("octo/app", "a.py", b"x")
    hub.site.answers["/search/code"] = limited(more=none_left(clock, 50))
    assert (await gate.call("github_search", {"query": "x"})).status == "failed"
    assert (await gate.call("github_search", {"query": "x"})).status == "refused"
    assert (await gate.call("github_read", FILE)).ok


@pytest.mark.parametrize(
    "more",
    [
        "x-ratelimit-remaining: 0\r\nx-ratelimit-reset: soon\r\n",
        f"x-ratelimit-remaining: 0\r\nx-ratelimit-reset: {'9' * 400}\r\n",
        # The gate waits for a second and tries again, twice.
        pytest.param("x-ratelimit-remaining: 0\r\nx-ratelimit-reset: 1\r\n", marks=pytest.mark.slow),
        "x-ratelimit-remaining: 0\r\ndate: yesterday\r\n",
        f"retry-after: {'9' * 400}\r\n",
        "retry-after: never\r\n",
        "retry-after: -5\r\n",
    ],
    ids=["word", "endless", "past", "no-reset", "for-ever", "never", "negative"],
)
async def test_times_that_make_no_sense_are_a_pause_of_at_most_a_day(opened: Opened, more: str) -> None:
    hub, gate, clock = opened
    hub.site.answers[PLACE] = limited(more=more)
    assert not (await gate.call("github_read", FILE)).ok
    until = gate.health("github").rate_limit_resets_at
    assert until is not None
    assert 0 < until - clock.now() <= 86400


async def test_no_access_is_no_limit(opened: Opened) -> None:
    hub, gate, _ = opened
    hub.site.answers[PLACE] = as_json({"message": "Resource not accessible"}, status="403 Forbidden")
    for _ in range(7):
        assert category_of(await gate.call("github_read", FILE)) is Category.API
    assert gate.health("github").rate_limit_resets_at is None
    assert len(hub.site.asked) == 7


async def test_a_server_that_sends_nothing_ends_with_the_time_of_the_call(opened: Opened) -> None:
    hub, gate, _ = opened
    waiting = asyncio.Event()

    async def silent(_writer: asyncio.StreamWriter) -> None:
        waiting.set()
        await asyncio.get_running_loop().create_future()

    hub.site.answers[PLACE] = silent
    call = asyncio.ensure_future(gate.call("github_read", FILE, timeout=0.5))
    await asyncio.wait_for(waiting.wait(), 10)
    assert category_of(await call) is Category.TIMEOUT
