"""What calls say alike is written once, and each call still says what it is: who asked for what, and why it may."""

from __future__ import annotations

import gc
from typing import Any

import pytest

from callgate import Callgate, Context, tool
from callgate.model.canonical import dumps
from callgate.model.event import Event, payload_digest
from callgate.model.levels import Autonomy
from callgate.pipeline.told import Alike
from tests.journeys.gates import gate_of

pytestmark = pytest.mark.usefixtures("on_each_store")


@tool(effects="read_only")
async def look(text: str) -> str:
    """Look at a text."""
    return text


@tool(effects="network_access", risk="medium")
async def send(text: str) -> dict[str, str]:
    """Send a text."""
    return {"sent": text}


async def _said(gate: Callgate, kind: str) -> list[dict[str, Any]]:
    events = [event async for event in gate.events(types=[kind])]
    assert all(_is_canonical(event) for event in events)
    return [event.payload or {} for event in events]


def _is_canonical(event: Event) -> bool:
    return event.payload_digest == payload_digest(dumps(event.payload), bytes.fromhex(event.salt or ""))


async def test_calls_of_many_askers_each_name_their_own():
    askers = [
        Context(principal=f"agent {number}", session='a "session"', user="ann" if number % 2 else None)
        for number in range(300)
    ]
    async with gate_of(look) as gate:
        for number, asker in enumerate(askers):
            await gate.call("look", {"text": str(number)}, asker)
        told = await _said(gate, "tool_call.attempted")
        ended = await _said(gate, "tool_call.succeeded")
    assert [(each["principal"], each.get("user"), each["arguments"]) for each in told] == [
        (asker.principal, asker.user, {"text": str(number)}) for number, asker in enumerate(askers)
    ]
    assert {each["session"] for each in told} == {'a "session"'}
    assert not any("key" in each or "fingerprint" in each for each in told), "a read has neither"
    assert [(each["tool"], each["output"]) for each in ended] == [("look", str(number)) for number in range(300)]


async def test_what_is_kept_of_made_up_names_is_bounded_for_all_decisions_together():
    async with gate_of(look) as gate:
        for scopes in range(10):
            for session in range(150):
                name = f"{session:03}" + "\U0001f600" * 509
                await gate.call("look", {"text": "x"}, Context(session=name, scopes=frozenset({f"made:{scopes}"})))
        told = await _said(gate, "tool_call.attempted")
        gc.collect()
        kept = [each for each in gc.get_objects() if type(each) is Alike]
    assert len({each["session"] for each in told}) == 150, "each call names its own"
    assert 0 < sum(len(each.whole) for each in kept) < 2 * 1024 * 1024


async def test_an_effect_says_its_key_and_fingerprint_between_what_effects_say_alike():
    free = Context(autonomy=Autonomy.A4)
    async with gate_of(send) as gate:
        made = [await gate.call("send", {"text": "a"}, free.narrow(idempotency_key=key)) for key in ('k "1"', "k2")]
        made.append(await gate.call("send", {"text": "b"}, free))
        told = await _said(gate, "tool_call.attempted")
        ended = await _said(gate, "tool_call.succeeded")
    assert [each["key"] for each in told] == [outcome.key for outcome in made] == ['k "1"', "k2", made[2].key]
    assert told[0]["fingerprint"] == told[1]["fingerprint"] != told[2]["fingerprint"]
    assert {each["decision"]["verdict"] for each in told} == {"allow"}
    assert [(each["output"], len(each["row_digest"])) for each in ended] == [({"sent": text}, 66) for text in "aab"]


async def test_calls_of_a_flow_say_their_place_in_it():
    async with gate_of(look) as gate:
        for index in range(2):
            await gate.call("look", {"text": "x"}, Context(chain_id="c1", chain_index=index))
        told = await _said(gate, "tool_call.attempted")
    assert [(each["chain_id"], each["chain_index"]) for each in told] == [("c1", 0), ("c1", 1)]


async def test_large_arguments_and_outputs_are_told_by_their_beginning():
    large = "x" * 100_000
    async with gate_of(look) as gate:
        outcome = await gate.call("look", {"text": large})
        (told,) = await _said(gate, "tool_call.attempted")
        (ended,) = await _said(gate, "tool_call.succeeded")
    assert outcome.unwrap() == large
    assert told["arguments"]["cut"] is True
    assert ended["output"]["cut"] is True
