"""What an agent left for itself is handed to its model where a turn begins, in every loop."""

from __future__ import annotations

from typing import Any

import pytest

from callgate import Callgate, Context
from callgate.errors import StoreError
from callgate.model.notice import Notice
from callgate.tools.notices.notices import Notices
from tests.frameworks.finishing import MINE
from tests.frameworks.providers import Provider, Wanted


def last_words(provider: Provider, body: dict[str, Any]) -> str:
    """The text of the last message a model was sent, whatever its form."""
    return str(provider.history(body)[-1])


async def test_a_notice_is_handed_to_the_next_turn_once(provider: Provider) -> None:
    script = [
        provider.calls(Wanted("call_1", "notify_self", {"message": "the file is large"})),
        provider.calls(Wanted("call_2", "notify_self", {"message": "mind the gap", "priority": "high"})),
        provider.says("Done."),
    ]
    kept: list[Any] = []
    async with (
        Callgate.open("memory://", builtin_tools=["notices"]) as gate,
        provider.stub(script) as stub,
    ):
        await gate.call("notify_self", {"message": "from before"}, MINE)
        result = await provider.loop(stub.url, gate).run("Go on.", MINE, keep=kept.append)
        assert await gate.notices(MINE) == ()
    first, second, third = stub.bodies
    assert "from before" in last_words(provider, first)
    assert "not the user's words" in last_words(provider, first)
    assert "the file is large" in last_words(provider, second)
    assert "mind the gap" not in last_words(provider, second)
    assert "(high context) mind the gap" in last_words(provider, third)
    assert [str(third).count(text) for text in ("- (normal context) from before", "(normal context) the file")] == [
        1,
        1,
    ]
    assert (result.text, stub.refusals) == ("Done.", [])
    assert any("from before" in str(state) for state in kept)


async def test_notices_that_cannot_be_had_wait_for_the_next_turn(
    provider: Provider, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    script = [
        provider.calls(Wanted("call_1", "notify_self", {"message": "the file is large"})),
        provider.calls(Wanted("call_2", "notify_self", {"message": "mind the gap"})),
        provider.says("Done."),
    ]
    asked, usual = 0, Notices.collect

    async def collect(notices: Notices, context: Context, *, at: str | None = None) -> tuple[Notice, ...]:
        nonlocal asked
        asked += 1
        if asked == 2:
            raise StoreError("the disk is gone for a moment")
        return await usual(notices, context, at=at)

    monkeypatch.setattr(Notices, "collect", collect)
    async with (
        Callgate.open("memory://", builtin_tools=["notices"]) as gate,
        provider.stub(script) as stub,
    ):
        result = await provider.loop(stub.url, gate).run("Go on.", MINE)
    _, second, third = stub.bodies
    assert "- (normal context) the file is large" not in str(second)
    assert str(third).count("- (normal context) the file is large") == 1
    assert str(third).count("- (normal context) mind the gap") == 1
    assert (result.text, stub.refusals) == ("Done.", [])
    assert "the disk is gone for a moment" in caplog.text
