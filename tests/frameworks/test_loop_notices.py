"""What an agent left for itself is handed to its model where a turn begins, in every loop."""

from __future__ import annotations

from typing import Any

from callgate import Callgate
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
