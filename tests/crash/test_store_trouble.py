"""A store that fails at the worst moment: nothing is entered, nothing is acknowledged, nothing contradicts itself."""

from __future__ import annotations

from typing import Any

import pytest

from callgate import Callgate, Context, Failed, tool
from callgate.errors import StoreUnavailable
from tests.crash.workload import FREE

pytestmark = [pytest.mark.crash, pytest.mark.slow]


def fail_the_read_after_the_next_write(gate: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The read after a claim is the one right before the handler is entered."""
    store = gate._opened.parts.store
    write, read = store.write, store.read
    state = {"armed": False}

    async def write_and_arm(unit: Any) -> Any:
        answer = await write(unit)
        state["armed"] = True
        return answer

    async def fail_once(query: Any) -> Any:
        if state.pop("armed", False):
            monkeypatch.undo()
            raise StoreUnavailable("the disk is gone for a moment")
        return await read(query)

    monkeypatch.setattr(store, "write", write_and_arm)
    monkeypatch.setattr(store, "read", fail_once)


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
