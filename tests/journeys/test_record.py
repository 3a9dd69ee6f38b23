"""What is recorded of a call, when it is durable, and what happens when it cannot be written."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest

from callgate import Callgate, Context, Refused, Succeeded, Unknown, tool
from callgate.errors import StoreUnavailable
from callgate.model.levels import Autonomy, Caller
from callgate.ports import Store, Transaction
from callgate.settings.load import parse_settings
from callgate.settings.values import Settings
from callgate.testing import memory_gate
from tests.journeys.gates import gate_of

FREE = Settings(autonomy=Autonomy.A4)
T = TypeVar("T")


class Faulty:
    """A real store whose writes can be made to fail, as a full disk makes them."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.broken = False

    async def write(self, unit: Callable[[Transaction], T]) -> T:
        if self.broken:
            raise StoreUnavailable("the disk is full")
        return await self._store.write(unit)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


def make_faulty(gate: Callgate) -> Faulty:
    parts = gate._open().parts
    faulty = Faulty(parts.store)
    parts.store = faulty  # pyright: ignore[reportAttributeAccessIssue]
    parts.spool._store = faulty  # pyright: ignore[reportAttributeAccessIssue]
    return faulty


@pytest.mark.requirement("EVT-05")
async def test_on_the_memory_store_calls_end_as_on_a_durable_one() -> None:
    @tool(effects="read_only")
    async def double(number: int) -> int:
        """Double a number."""
        return number * 2

    async with memory_gate(double) as gate:
        assert (await gate.call("double", {"number": 4})).unwrap() == 8


@pytest.mark.requirement("EVT-08")
@pytest.mark.usefixtures("on_each_store")
async def test_the_intent_is_written_before_the_handler_is_entered() -> None:
    seen: list[list[str]] = []

    @tool(effects="network_access", risk="medium")
    async def send(text: str) -> str:
        """Send a text."""
        events = gate._open().parts.store.read(lambda reader: reader.events(types=["tool_call.*"]))
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
        heard: asyncio.Queue[str] = asyncio.Queue()
        gate.on("tool_call.*", lambda event: heard.put_nowait(event.type))
        assert await asyncio.wait_for(heard.get(), 10) == "tool_call.succeeded"
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
async def test_the_log_of_calls_says_who_called_what_and_how_it_ended() -> None:
    @tool(effects="read_only", allowed_callers=["direct", "chain"])
    async def double(number: int) -> int:
        """Double a number."""
        return number * 2

    async with memory_gate(double) as gate:
        await gate.call("double", {"number": 4}, Context(role="default"))
        chained = Context(caller=Caller.CHAIN, chain_id="c1", chain_index=2)
        await gate.call("double", {"number": "x"}, chained)
        direct, refused = await gate.calls()
        assert (direct["tool"], direct["role"], direct["status"]) == ("double", "default", "succeeded")
        assert (direct["caller_type"], direct["chain_id"], direct["chain_index"]) == ("direct", None, 0)
        assert direct["duration_ms"] >= 0
        assert (refused["status"], refused["caller_type"]) == ("refused", "chain")
        assert (refused["chain_id"], refused["chain_index"]) == ("c1", 2)


@pytest.mark.requirement("IDM-11")
async def test_outcomes_and_questions_survive_a_restart(tmp_path: Path) -> None:
    done: list[int] = []

    @tool(effects="network_access", risk="high")
    async def pay(amount: int) -> dict[str, int]:
        """Pay somebody."""
        done.append(amount)
        return {"paid": amount}

    url = f"sqlite:///{tmp_path / 'gate.db'}"
    async with Callgate.open(url, FREE) as gate:
        gate.add(pay)
        first = await gate.call("pay", {"amount": 5}, Context(idempotency_key="k"))
        pending = await gate.call("pay", {"amount": 6}, Context(autonomy=Autonomy.A2))
    async with Callgate.open(url, FREE) as gate:
        gate.add(pay)
        replay = await gate.call("pay", {"amount": 5}, Context(idempotency_key="k"))
        assert replay.deduped
        assert replay.output == first.output
        assert [question.id for question in await gate.approvals()] == [pending.approval_id]  # pyright: ignore[reportAttributeAccessIssue]
        assert (await gate.verify_audit()).ok
    assert done == [5]


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
