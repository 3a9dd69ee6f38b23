"""What is recorded of a call, when it is durable, and what happens when it cannot be written."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from callgate import Callgate, Context, Pending, Refused, Succeeded, Unknown, tool
from callgate.events.projections.calls import FIELDS
from callgate.model.event import Event
from callgate.model.levels import Autonomy, Caller
from callgate.settings.load import parse_settings
from callgate.settings.values import Settings
from callgate.testing import HandClock, memory_gate
from tests.journeys.faulty import make_faulty
from tests.journeys.gates import gate_of, parts_of

FREE = Settings(autonomy=Autonomy.A4)


@tool(effects="read_only")
async def double(number: int) -> int:
    """Double a number."""
    return number * 2


@tool(effects="network_access", risk="medium")
async def send(text: str) -> dict[str, str]:
    """Send a text."""
    if text == "lost":
        raise ConnectionResetError("the line is dead")
    if text == "bad":
        raise ValueError("the text is bad")
    return {"sent": text}


@tool(effects="network_access", risk="low")
async def linger() -> str:
    """Never come back."""
    await asyncio.Event().wait()
    return "never"


_ENDS: dict[str, tuple[str, dict[str, Any], Context, float | None]] = {
    "succeeded": ("double", {"number": 4}, Context(), None),
    "succeeded under a key": ("send", {"text": "x"}, Context(idempotency_key="k"), None),
    "told again": ("send", {"text": "x"}, Context(idempotency_key="k"), None),
    "conflict": ("send", {"text": "y"}, Context(idempotency_key="k"), None),
    "failed": ("send", {"text": "bad"}, Context(idempotency_key="bad"), None),
    "unknown": ("send", {"text": "lost"}, Context(idempotency_key="lost"), None),
    "unknown before": ("send", {"text": "lost"}, Context(idempotency_key="lost2"), None),
    "timed out": ("linger", {}, Context(idempotency_key="slow"), 0.02),
    "not found": ("nosuch", {}, Context(), None),
    "invalid": ("double", {"number": "x"}, Context(), None),
    "not allowed": ("send", {"text": "z"}, Context(read_only=True), None),
    "previewed": ("send", {"text": "z"}, Context(autonomy=Autonomy.A0), None),
    "pending": ("send", {"text": "z"}, Context(autonomy=Autonomy.A1, idempotency_key="asked"), None),
}


async def _ends(url: str) -> dict[str, Any]:
    """How each kind of call ends on that store, without what is made anew for every call."""
    told: dict[str, Any] = {}
    async with memory_gate(double, send, linger, store=url, config=FREE, clock=HandClock()) as gate:
        for name, (tool_name, arguments, context, timeout) in _ENDS.items():
            outcome = await gate.call(tool_name, arguments, context, timeout=timeout)
            error = outcome.error
            told[name] = [outcome.status, outcome.output, outcome.ok, outcome.deduped, outcome.to_human()]
            told[name] += [None if error is None else (error.code, error.message, error.category, error.faults)]
        told["the log"] = [(call["tool"], call["status"], call.get("error_code")) for call in await gate.calls()]
        assert FIELDS.issuperset(name for call in await gate.calls() for name in call)
    return told


@pytest.mark.requirement("EVT-05")
async def test_on_the_memory_store_calls_end_as_on_a_durable_one(tmp_path: Path) -> None:
    in_memory, durable = await _ends("memory://"), await _ends(f"sqlite:///{tmp_path / 'gate.db'}")
    assert in_memory == durable
    statuses = {told[0] for name, told in durable.items() if name != "the log"}
    assert statuses == {"succeeded", "failed", "unknown", "refused", "previewed", "pending"}


@pytest.mark.requirement("EVT-04")
@pytest.mark.usefixtures("on_each_store")
async def test_an_attempt_has_one_closing_event_and_a_replay_is_recorded_as_that_alone() -> None:
    closing = {
        "succeeded": ["attempted", "succeeded"],
        "succeeded under a key": ["attempted", "succeeded"],
        "told again": ["deduped"],
        "conflict": ["refused"],
        "failed": ["attempted", "failed"],
        "unknown": ["attempted", "unknown"],
        "timed out": ["attempted", "unknown"],
        "invalid": ["refused"],
    }
    async with gate_of(double, send, linger, config=FREE) as gate:
        for name, events in closing.items():
            tool_name, arguments, context, timeout = _ENDS[name]
            outcome = await gate.call(tool_name, arguments, context, timeout=timeout)
            told = [event.type async for event in gate.events(types=["tool_call.*"], call_id=outcome.call_id)]
            assert told == [f"tool_call.{event}" for event in events], name


@pytest.mark.requirement("EVT-08")
@pytest.mark.usefixtures("on_each_store")
async def test_the_intent_is_written_before_the_handler_is_entered() -> None:
    seen: list[list[str]] = []

    @tool(effects="network_access", risk="medium")
    async def send(text: str) -> str:
        """Send a text."""
        events = parts_of(gate).store.read(lambda reader: reader.events(types=["tool_call.*"]))
        seen.append([event.type for event in await events])
        return "sent"

    async with gate_of(send, config=FREE) as gate:
        assert (await gate.call("send", {"text": "x"})).ok
        faulty = make_faulty(gate)
        faulty.broken = True
        refused = await gate.call("send", {"text": "y"})
        assert isinstance(refused, Refused)
        assert refused.error is not None
        assert refused.error.code == "store_unavailable"
        faulty.broken = False
    assert seen == [["tool_call.attempted"]]


@pytest.mark.requirement("EVT-09")
@pytest.mark.usefixtures("on_each_store")
async def test_a_success_whose_record_fails_is_unknown_with_its_output_and_is_written_later() -> None:
    @tool(effects="network_access", risk="medium")
    async def send(text: str) -> str:
        """Send a text while the disk fills up."""
        faulty.broken = True
        return "sent"

    async with gate_of(send, config=FREE) as gate:
        faulty = make_faulty(gate)
        outcome = await gate.call("send", {"text": "x"}, Context(idempotency_key="k"))
        assert isinstance(outcome, Unknown)
        assert outcome.output == "sent"
        running = await gate.outcome("k")
        assert isinstance(running, Refused)
        faulty.broken = False
        heard: asyncio.Queue[Event] = asyncio.Queue()
        gate.on("tool_call.*", heard.put_nowait)
        assert (await asyncio.wait_for(heard.get(), 10)).type == "tool_call.succeeded"
        recorded = await gate.outcome("k")
        assert isinstance(recorded, Succeeded)
        types = [event.type async for event in gate.events(types=["tool_call.*"])]
        assert types == ["tool_call.attempted", "tool_call.succeeded"]


@pytest.mark.requirement("EVT-10")
@pytest.mark.parametrize("effects", ["read_only", "network_access"])
async def test_a_cancelled_call_is_closed(effects: str) -> None:
    entered = asyncio.Event()

    @tool(effects=effects, risk="low")
    async def wait() -> str:
        """Wait for ever."""
        entered.set()
        await asyncio.Event().wait()
        return "never"

    async with memory_gate(wait, config=FREE) as gate:
        call = asyncio.create_task(gate.call("wait", {}))
        await asyncio.wait_for(entered.wait(), 5)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        types = [event.type async for event in gate.events(types=["tool_call.*"])]
        closing = "tool_call.failed" if effects == "read_only" else "tool_call.unknown"
        assert types == ["tool_call.attempted", closing]


@pytest.mark.requirement("EVT-15")
@pytest.mark.usefixtures("on_each_store")
async def test_the_log_of_calls_says_who_called_what_and_how_it_ended() -> None:
    @tool(effects="read_only", allowed_callers=["direct", "chain"])
    async def halve(number: int) -> float:
        """Halve an even number."""
        if number % 2:
            raise ValueError(f"{number} is odd")
        return number / 2

    chained = Context(caller=Caller.CHAIN, chain_id="c1", chain_index=2)
    async with gate_of(halve) as gate:
        halved = await gate.call("halve", {"number": 4}, Context(role="default"))
        failed = await gate.call("halve", {"number": 5}, chained)
        refused = await gate.call("halve", {"number": "x"}, chained)
        told = [await gate.invocation(outcome.call_id) for outcome in (halved, failed, refused)]
        direct, second, third = (record or {} for record in told)
        assert direct | {"time": 0, "elapsed_ms": 0} == {
            "call": halved.call_id,
            "time": 0,
            "tool": "halve",
            "args": {"number": 4},
            "role": "default",
            "status": "succeeded",
            "success": True,
            "result": 2.0,
            "error": None,
            "elapsed_ms": 0,
            "caller_type": "direct",
            "chain_id": None,
            "chain_index": 0,
        }
        assert direct["elapsed_ms"] >= 0
        assert (second["success"], second["result"], second["args"]) == (False, None, {"number": 5})
        assert "5 is odd" in second["error"]
        assert (third["success"], third["args"], third["elapsed_ms"]) == (False, {"number": "x"}, None)
        assert "number" in third["error"]
        for record in (second, third):
            assert (record["caller_type"], record["chain_id"], record["chain_index"]) == ("chain", "c1", 2)
        assert await gate.invocation("nobody") is None


async def test_the_newest_calls_that_fit_are_listed_oldest_first() -> None:
    @tool(effects="read_only")
    async def halve(number: int) -> float:
        """Halve a number."""
        return number / 2

    async with memory_gate(double, halve) as gate:
        made = [await gate.call("double", {"number": number}) for number in range(40)]
        other = await gate.call("halve", {"number": 4})
        made += [await gate.call("double", {"number": number}) for number in range(40)]
        ids = [outcome.call_id for outcome in made]
        assert [call["call"] for call in await gate.calls(tool="double")] == ids
        assert [call["call"] for call in await gate.calls(tool="double", limit=3)] == ids[-3:]
        assert [call["call"] for call in await gate.calls(tool="halve", limit=2)] == [other.call_id]
        assert len(await gate.calls(limit=50)) == 50
        assert len(await gate.calls()) == 81
        assert await gate.calls(limit=0) == []
        with pytest.raises(TypeError, match=r"knows no field 'tol'; an entry has .*tool"):
            await gate.calls(tol="double")


@pytest.mark.requirement("IDM-11", "APR-08")
async def test_outcomes_and_questions_survive_a_restart(tmp_path: Path) -> None:
    done: list[int] = []

    @tool(effects="network_access", risk="high")
    async def pay(amount: int) -> dict[str, int]:
        """Pay somebody."""
        done.append(amount)
        return {"paid": amount}

    url, careful = f"sqlite:///{tmp_path / 'gate.db'}", Context(autonomy=Autonomy.A2)
    async with Callgate.open(url, FREE) as gate:
        gate.add(pay)
        first = await gate.call("pay", {"amount": 5}, Context(idempotency_key="k"))
        asked = [await gate.call("pay", {"amount": amount}, careful) for amount in (6, 7)]
    yes, no = (outcome.approval_id for outcome in asked if isinstance(outcome, Pending))
    async with Callgate.open(url, FREE) as gate:
        gate.add(pay)
        replay = await gate.call("pay", {"amount": 5}, Context(idempotency_key="k"))
        assert replay.deduped
        assert replay.output == first.output
        assert [question.id for question in await gate.approvals()] == [yes, no]
        await gate.approve(yes, by="ann")
        await gate.reject(no, by="ann", why="not today")
    async with Callgate.open(url, FREE) as gate:
        gate.add(pay)
        assert (await gate.resume(yes)).output == {"paid": 6}
        assert (await gate.resume(yes)).deduped
        for rejected in (await gate.resume(no), await gate.call("pay", {"amount": 7}, careful)):
            assert rejected.error is not None
            assert rejected.error.code == "approval_rejected"
        assert (await gate.verify_audit()).ok
    assert done == [5, 6]


async def test_a_gate_that_closes_lets_calls_under_way_end_and_be_recorded(tmp_path: Path) -> None:
    entered, leave = asyncio.Event(), asyncio.Event()

    @tool(effects="network_access", risk="medium")
    async def send(text: str) -> str:
        """Send slowly."""
        entered.set()
        await leave.wait()
        return "sent"

    url = f"sqlite:///{tmp_path / 'gate.db'}"
    async with Callgate.open(url, FREE) as gate:
        gate.add(send)
        call = asyncio.create_task(gate.call("send", {"text": "x"}, Context(idempotency_key="k")))
        await asyncio.wait_for(entered.wait(), 5)
        asyncio.get_running_loop().call_later(0.05, leave.set)
    assert (await call).ok
    async with Callgate.open(url, FREE) as gate:
        assert isinstance(await gate.outcome("k"), Succeeded)


async def test_names_the_policy_knows_and_the_registry_does_not_are_told_at_the_first_call(
    caplog: pytest.LogCaptureFixture,
) -> None:
    @tool(effects="read_only")
    async def double(number: int) -> int:
        """Double a number."""
        return number * 2

    settings = parse_settings("global: {deny: [dubble]}", file="callgate.yaml")
    async with memory_gate(double, config=settings) as gate:
        assert (await gate.call("double", {"number": 1})).ok
        assert (await gate.call("double", {"number": 1})).ok
    assert caplog.text.count("dubble") == 1
    assert "policy: callgate.yaml:1: global.deny[0]: there is no tool dubble" in caplog.text
