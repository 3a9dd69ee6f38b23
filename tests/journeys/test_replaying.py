"""Deciding recorded calls again: of which time, of how many, and with a turn for everybody else meanwhile."""

import asyncio

from callgate import Context, tool
from callgate.testing import HandClock
from tests.journeys.gates import gate_of


@tool(effects="system_state", risk="low")
def note(text: str) -> str:
    """Note a text."""
    return text


async def test_calls_are_decided_again_of_a_time_and_the_newest_of_them():
    clock = HandClock()
    async with gate_of(note, clock=clock) as gate:
        made: list[str] = []
        for number in range(6):
            made.append((await gate.call("note", {"text": str(number)})).call_id)
            clock.turn(10)
        begun = clock.now() - 60
        assert [each.call for each in await gate.replay()] == made
        assert [each.call for each in await gate.replay(since=begun + 15)] == made[2:]
        assert [each.call for each in await gate.replay(since=begun + 10, until=begun + 40)] == made[1:4]
        assert [each.call for each in await gate.replay(until=begun + 40, limit=2)] == made[2:4]
        assert await gate.call_count(since=begun + 15) == 4


async def test_a_long_replay_lets_others_have_their_turn():
    async with gate_of(note) as gate:
        for number in range(200):
            await gate.call("note", {"text": str(number)}, Context(session=str(number)))
        replaying = asyncio.ensure_future(gate.replay())
        turns = 0
        while not replaying.done():
            await asyncio.sleep(0)
            turns += 1
        assert len(await replaying) == 200
    assert turns >= 10
