"""A caller who lets go while the intent is written: it cannot be taken back, so it is closed, and nothing runs."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from callgate import Call, Callgate, Context, Failed, tool
from callgate.errors import StoreUnavailable
from callgate.model.levels import Happened
from callgate.ports.promise import promised
from tests.crash.waiting import WITHIN
from tests.crash.workload import FREE

pytestmark = [pytest.mark.crash, pytest.mark.slow]

KEY = Context(idempotency_key="k")
done: list[str] = []


@tool(effects="network_access", risk="medium")
async def pay() -> str:
    """Pay somebody."""
    done.append("pay")
    return "paid"


@tool(effects=["read_only", "network_access"], egress=True)
async def search() -> str:
    """Ask somebody outside."""
    done.append("search")
    return "found"


class HeldWrite:
    """The next write of a store, held until it is let through; or it fails then."""

    def __init__(self, gate: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        self.entered, self.go = asyncio.Event(), asyncio.Event()
        self.fails, self.arrives = False, False
        self._store = gate._opened.parts.store
        self._submit = self._store.submit
        monkeypatch.setattr(self._store, "submit", self._promise)

    def _promise(self, unit: Any) -> Any:
        return promised(self._hold(unit))

    async def _hold(self, unit: Any) -> Any:
        self._store.submit = self._submit
        self.entered.set()
        await self.go.wait()
        if self.arrives:
            await self._submit(unit)
        if self.fails:
            raise StoreUnavailable("the disk is gone for a moment")
        return await self._submit(unit)


@tool(effects="system_state", risk="medium", source="host")
async def edit() -> str:
    """Edit a file at the host."""
    raise AssertionError


@pytest.fixture
async def gate(url: str) -> Any:
    done.clear()
    opened = Callgate.open(url, FREE)
    opened.add(pay, search, edit)
    async with opened:
        # What the gate writes on its own when it was opened is over then.
        await opened.flush()
        await opened.flush()
        yield opened


async def let_go_during(held: HeldWrite, work: Awaitable[Any], meanwhile: Callable[[], Any] | None = None) -> None:
    """Cancel the work while its intent is being written."""
    task = asyncio.ensure_future(work)
    async with asyncio.timeout(WITHIN):
        await held.entered.wait()
        task.cancel()
        await asyncio.sleep(0)
        if meanwhile is not None:
            await meanwhile()
        held.go.set()
        with pytest.raises(asyncio.CancelledError):
            await task


async def types(gate: Callgate) -> list[str]:
    return [event.type async for event in gate.events(types=["tool_call.*"])]


@pytest.mark.requirement("EVT-04", "EVT-10")
async def test_an_effect_is_closed_without_effect_and_its_key_is_free(
    gate: Callgate, monkeypatch: pytest.MonkeyPatch
) -> None:
    await let_go_during(HeldWrite(gate, monkeypatch), gate.call("pay", {}, KEY))
    assert await types(gate) == ["tool_call.attempted", "tool_call.failed"]
    assert (await gate.outcome("k"), done) == (None, [])
    [entry] = await gate.calls()
    told = await gate.outcome_of_call(entry["call"])
    assert isinstance(told, Failed)
    assert (told.happened, told.error and told.error.code) == (Happened.NONE, "cancelled")
    assert (await gate.verify_audit()).problems == ()
    assert (await gate.call("pay", {}, KEY)).ok
    assert done == ["pay"]


async def test_a_read_that_writes_its_intent_is_closed_as_well(gate: Callgate, monkeypatch: pytest.MonkeyPatch) -> None:
    await let_go_during(HeldWrite(gate, monkeypatch), gate.call("search", {}, Context()))
    assert await types(gate) == ["tool_call.attempted", "tool_call.failed"]
    assert done == []


async def test_a_judgement_nobody_waits_for_is_closed_at_once(gate: Callgate, monkeypatch: pytest.MonkeyPatch) -> None:
    await let_go_during(HeldWrite(gate, monkeypatch), gate.judge(Call("edit", {}), KEY))
    assert await types(gate) == ["tool_call.attempted", "tool_call.failed"]
    assert await gate.outcome("k") is None


async def test_an_intent_that_came_too_late_leaves_the_twins_record_as_it_is(
    gate: Callgate, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def overtake() -> None:
        other = Callgate.open(url, FREE)
        other.add(pay)
        async with other:
            assert (await other.call("pay", {}, KEY)).ok

    await let_go_during(HeldWrite(gate, monkeypatch), gate.call("pay", {}, KEY), overtake)
    assert await types(gate) == ["tool_call.attempted", "tool_call.succeeded"]
    assert done == ["pay"]


async def test_an_intent_that_could_not_be_written_leaves_nothing(
    gate: Callgate, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = HeldWrite(gate, monkeypatch)
    held.fails = True
    await let_go_during(held, gate.call("pay", {}, KEY))
    assert await types(gate) == []
    assert (await gate.call("pay", {}, KEY)).ok
    assert done == ["pay"]


async def test_an_intent_that_arrived_though_that_was_said_to_fail_is_closed_too(
    gate: Callgate, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = HeldWrite(gate, monkeypatch)
    held.fails = held.arrives = True
    await let_go_during(held, gate.call("pay", {}, KEY))
    # Who comes next under the key waits until that is written.
    async with asyncio.timeout(WITHIN):
        assert (await gate.call("pay", {}, KEY)).ok
    closed = ["tool_call.attempted", "tool_call.failed"]
    assert await types(gate) == [*closed, "tool_call.attempted", "tool_call.succeeded"]
    assert done == ["pay"]
    assert (await gate.verify_audit()).problems == ()


async def test_a_store_whose_folder_of_owners_was_removed_still_answers(gate: Callgate, tmp_path: Path) -> None:
    shutil.rmtree(tmp_path / "store" / "callgate.db.owners")
    assert (await gate.call("pay", {}, KEY)).ok
