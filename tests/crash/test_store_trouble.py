"""A store that fails at the worst moment: nothing is entered, nothing is acknowledged, nothing contradicts itself."""

from __future__ import annotations

import threading
from functools import partial
from typing import Any

import pytest

from callgate import Callgate, Context, Failed, Succeeded, Unknown, tool
from callgate.errors import StoreUnavailable
from callgate.ports.promise import promised
from tests.crash.waiting import WITHIN, until
from tests.crash.workload import FREE

pytestmark = [pytest.mark.crash, pytest.mark.slow]


def fail_the_read_after_the_next_write(gate: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The read after a claim is the one right before the handler is entered."""
    store = gate._opened.parts.store
    submit, peek = store.submit, store.peek
    state = {"armed": False}

    async def write_and_arm(unit: Any) -> Any:
        answer = await submit(unit)
        state["armed"] = True
        return answer

    def promise(unit: Any) -> Any:
        return promised(write_and_arm(unit))

    async def fail_once(query: Any) -> Any:
        if state["armed"]:
            store.submit, store.peek = submit, peek
            raise StoreUnavailable("the disk is gone for a moment")
        return await peek(query)

    monkeypatch.setattr(store, "submit", promise)
    monkeypatch.setattr(store, "peek", fail_once)


def fail_the_write_after(entered: threading.Event, gate: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The write after the handler was entered is the one that closes the call."""
    store = gate._opened.parts.store
    submit = store.submit

    def fail_once(unit: Any) -> Any:
        if entered.is_set():
            store.submit = submit
            raise StoreUnavailable("the disk is full for a moment")
        return submit(unit)

    monkeypatch.setattr(store, "submit", fail_once)


@pytest.mark.requirement("EVT-04", "EVT-09")
async def test_a_late_result_is_recorded_after_the_ending_that_had_to_wait_for_the_store(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    entered, release = threading.Event(), threading.Event()

    @tool(effects="network_access", risk="medium")
    def pay(amount: int) -> int:
        """Pay somebody, slowly."""
        entered.set()
        assert release.wait(WITHIN)
        return amount

    async with Callgate.open(url, FREE) as gate:
        gate.add(pay)
        fail_the_write_after(entered, gate, monkeypatch)
        outcome = await gate.call("pay", {"amount": 5}, Context(idempotency_key="k"), timeout=0.01)
        assert isinstance(outcome, Unknown)
        release.set()
        await until(partial(succeeded, gate))
        types = [event.type async for event in gate.events(types=["tool_call.*"])]
        assert types == ["tool_call.attempted", "tool_call.unknown", "tool_call.settled_late"]
        assert (await gate.verify_audit()).problems == ()


async def succeeded(gate: Callgate) -> bool:
    return isinstance(await gate.outcome("k"), Succeeded)


async def test_a_store_that_fails_right_before_the_handler_leaves_no_effect_and_a_free_key(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[int] = []

    @tool(effects="network_access", risk="medium")
    async def pay(amount: int) -> int:
        """Pay somebody."""
        done.append(amount)
        return amount

    key = Context(idempotency_key="k")
    async with Callgate.open(url, FREE) as gate:
        gate.add(pay)
        fail_the_read_after_the_next_write(gate, monkeypatch)
        outcome = await gate.call("pay", {"amount": 5}, key)
        assert isinstance(outcome, Failed)
        assert (outcome.happened.value, done) == ("none", [])
        assert (await gate.call("pay", {"amount": 5}, key)).ok
        assert (await gate.verify_audit()).ok
    assert done == [5]
