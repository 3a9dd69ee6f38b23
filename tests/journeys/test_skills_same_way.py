"""Skills that went past a call which had not succeeded: run again under their key, they take the same way."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from callgate import Callgate, Context, NoEffect, Pending, Refused, SkillContext, Unknown, skill, tool
from callgate.model.levels import Autonomy
from callgate.testing import memory_gate
from tests.journeys.faulty import make_faulty
from tests.journeys.gates import gate_of, parts_of
from tests.journeys.skill_desk import BOTH

MINE = Context(principal="bot", session="s", idempotency_key="k", autonomy=Autonomy.A3)
pytestmark = pytest.mark.usefixtures("on_each_store")


class Bank:
    """Two ways to pay, of which the first is closed at first; and a question at the end."""

    def __init__(self) -> None:
        self.paid: list[str] = []
        self.tried: list[str] = []
        self.trouble: Callable[[], object] | None = None
        self.closed: str | None = None

        def look(_arguments: dict[str, Any], _context: Context) -> str | None:
            return self.closed

        @tool(effects="system_state", risk="low", allowed_callers=BOTH, check=look)
        async def by_bank(amount: int) -> str:
            """Pay by bank."""
            self.tried.append("bank")
            if self.trouble is not None:
                self.trouble()
            self.paid.append("bank")
            return "by bank"

        @tool(effects="system_state", risk="low", allowed_callers=BOTH)
        async def by_card(amount: int) -> str:
            """Pay by card."""
            self.paid.append("card")
            return "by card"

        @tool(effects="network_access", risk="high", allowed_callers=BOTH)
        async def tell(how: str) -> str:
            """Tell somebody, which a person has to allow."""
            return f"told: {how}"

        self.tools = [by_bank, by_card, tell]

    def is_busy(self) -> None:
        """Nothing was paid."""
        raise NoEffect("the line is busy")

    def breaks(self) -> None:
        """Nobody knows whether anything was paid."""
        raise ConnectionError("the line broke")


@skill(tools=["by_bank", "by_card", "tell"])
async def pay_somehow(amount: int, steps: SkillContext) -> str:
    """Pay by bank, else by card, and tell."""
    how = await steps.call("by_bank", {"amount": amount})
    if not how.ok:
        how = await steps.call("by_card", {"amount": amount})
    return (await steps.call("tell", {"how": how.unwrap()})).unwrap()


async def to_the_end(gate: Callgate, name: str, arguments: dict[str, Any], context: Context = MINE) -> Any:
    outcome = await gate.call(name, arguments, context)
    while isinstance(outcome, Pending):
        await gate.approve(outcome.approval_id, by="ada")
        outcome = await gate.call(name, arguments, context)
    return outcome


async def until_it_tells(gate: Callgate, name: str = "pay_somehow") -> Pending:
    """The skill up to its last question, which somebody says yes to."""
    first = await gate.call(name, {"amount": 5}, MINE)
    assert isinstance(first, Pending)
    await gate.approve(first.approval_id, by="ada")
    second = await gate.call(name, {"amount": 5}, MINE)
    assert isinstance(second, Pending)
    await gate.approve(second.approval_id, by="ada")
    return second


@pytest.mark.parametrize("why", ["failed", "refused"])
async def test_a_skill_that_fell_back_takes_the_same_way_again(why: str):
    bank = Bank()
    async with gate_of(*bank.tools, pay_somehow) as gate:
        if why == "failed":
            bank.trouble = bank.is_busy
        else:
            bank.closed = "closed today"
        await until_it_tells(gate)
        assert bank.paid == ["card"]
        bank.trouble = bank.closed = None
        outcome = await gate.call("pay_somehow", {"amount": 5}, MINE)
        assert (outcome.unwrap(), bank.paid) == ("told: by card", ["card"])
        assert (await gate.verify_audit()).ok
        other = Context(principal="bot", session="s", idempotency_key="another", autonomy=Autonomy.A4)
        assert (await gate.call("pay_somehow", {"amount": 6}, other)).unwrap() == "told: by bank"


async def test_a_skill_that_tried_again_takes_the_same_way_in_another_process(tmp_path: Path):
    bank = Bank()

    @skill(tools=["by_bank", "tell"])
    async def stubborn(amount: int, steps: SkillContext) -> str:
        """Pay by bank, up to three times, and tell."""
        for _ in range(3):
            if (await steps.call("by_bank", {"amount": amount})).ok:
                break
            bank.trouble = None
        return (await steps.call("tell", {"how": "paid"})).unwrap()

    bank.trouble = bank.is_busy
    store = f"sqlite:///{tmp_path / 'a.db'}"
    async with memory_gate(*bank.tools, stubborn, store=store) as gate:
        await until_it_tells(gate, "stubborn")
        assert bank.tried == ["bank", "bank"]
    async with memory_gate(*bank.tools, stubborn, store=store) as gate:
        assert (await gate.call("stubborn", {"amount": 5}, MINE)).ok
        assert (bank.tried, bank.paid) == (["bank", "bank"], ["bank"])


async def test_the_last_refusal_of_a_skill_is_tried_anew_because_nothing_came_after_it():
    bank = Bank()

    @skill(tools=["by_bank"])
    async def pay_once(amount: int, steps: SkillContext) -> str:
        """Pay by bank or fail."""
        return (await steps.call("by_bank", {"amount": amount})).unwrap()

    bank.closed = "closed today"
    async with gate_of(*bank.tools, pay_once) as gate:
        assert (await gate.call("pay_once", {"amount": 5}, MINE)).status == "failed"
        bank.closed = None
        assert (await gate.call("pay_once", {"amount": 5}, MINE)).ok
        assert bank.paid == ["bank"]


async def test_a_step_by_name_is_tried_again_in_one_run_and_not_once_more_in_the_next():
    bank = Bank()

    @skill(tools=["by_bank", "by_card", "tell"])
    async def between(amount: int, steps: SkillContext) -> str:
        """Try the bank, do something else, try it again, and tell."""
        first = await steps.call("by_bank", {"amount": amount}, step="bank")
        (await steps.call("by_card", {"amount": amount}, step="card")).unwrap()
        bank.trouble = None
        second = await steps.call("by_bank", {"amount": amount}, step="bank")
        told = await steps.call("tell", {"how": second.unwrap()}, step="tell")
        return f"{first.ok} {told.unwrap()}"

    bank.trouble = bank.is_busy
    async with gate_of(*bank.tools, between) as gate:
        outcome = await to_the_end(gate, "between", {"amount": 5})
        # The key has its end by then, and says it from the first time on.
        assert outcome.unwrap() == "True told: by bank"
        assert bank.paid == ["card", "bank"]


async def test_a_call_that_a_skill_let_go_of_is_not_made_when_it_is_run_again():
    bank, entered, on = Bank(), asyncio.Event(), asyncio.Event()

    @tool(effects="read_only")
    async def slow() -> str:
        """Hang until it is let on."""
        entered.set()
        await on.wait()
        return "slow"

    looked: list[str] = []

    @skill(tools=["slow", "by_card", "tell"])
    async def impatient(amount: int, steps: SkillContext) -> str:
        """Look, but not for long; pay where that gave nothing; tell."""
        looking = asyncio.ensure_future(steps.call("slow"))
        await asyncio.wait([looking, asyncio.ensure_future(entered.wait())], return_when=asyncio.FIRST_COMPLETED)
        if not on.is_set():
            looking.cancel()
        await asyncio.wait([looking])
        found = None if looking.cancelled() else looking.result()
        looked.append("nothing" if found is None or not found.ok else "something")
        if looked[-1] == "nothing":
            (await steps.call("by_card", {"amount": amount})).unwrap()
        return (await steps.call("tell", {"how": looked[-1]})).unwrap()

    async with gate_of(*bank.tools, slow, impatient) as gate:
        await until_it_tells(gate, "impatient")
        on.set()
        assert (await gate.call("impatient", {"amount": 5}, MINE)).unwrap() == "told: nothing"
        assert (looked, bank.paid) == (["nothing", "nothing"], ["card"])


async def test_a_call_of_which_somebody_found_that_it_did_not_happen_is_not_made_after_all():
    bank = Bank()
    bank.trouble = bank.breaks
    async with gate_of(*bank.tools, pay_somehow) as gate:
        await until_it_tells(gate)
        assert bank.paid == ["card"]
        bank.trouble = None
        (unknown,) = [row for row in await gate.attempts() if row.tool == "by_bank"]
        assert isinstance(await gate.outcome(unknown.key.key, MINE), Unknown)
        await gate.resolve(unknown.key.key, MINE, happened=False, by="ada")
        await gate.call("pay_somehow", {"amount": 5}, MINE)
        assert (bank.tried, bank.paid) == (["bank"], ["card"])


async def test_another_call_in_the_place_of_one_that_was_refused_stops_the_skill():
    bank = Bank()
    amounts = [5, 6]

    @skill(tools=["by_bank", "tell"])
    async def fickle(amount: int, steps: SkillContext) -> str:
        """Ask for another amount in each run."""
        told = await steps.call("by_bank", {"amount": amounts[0]})
        assert isinstance(told, Refused)
        return (await steps.call("tell", {"how": "not"})).unwrap()

    bank.closed = "closed today"
    async with gate_of(*bank.tools, fickle) as gate:
        await until_it_tells(gate, "fickle")
        del amounts[0]
        bank.closed = None
        outcome = await gate.call("fickle", {"amount": 5}, MINE)
        assert outcome.error is not None
        assert "asks for something else than before" in outcome.error.message
        assert bank.tried == []


async def test_where_it_cannot_be_kept_what_a_skill_goes_past_the_next_call_is_not_made(
    monkeypatch: pytest.MonkeyPatch,
):
    bank = Bank()
    bank.trouble = bank.is_busy

    @skill(tools=["by_bank", "by_card"])
    async def pay_either_way(amount: int, steps: SkillContext) -> list[str]:
        """Pay by bank, else by card, on a disk that is full for a moment."""
        assert (await steps.call("by_bank", {"amount": amount})).status == "failed"
        faulty.broken = True
        lost = await steps.call("by_card", {"amount": amount})
        faulty.broken = False
        assert bank.paid == []
        made = await steps.call("by_card", {"amount": amount})
        return [lost.error.code if lost.error else "", made.status]

    async with gate_of(*bank.tools, pay_either_way) as gate:
        real, faulty = parts_of(gate).store, make_faulty(gate)
        # The intent of a call could be written: it is the way that could not be kept.
        monkeypatch.setattr(faulty, "submit", real.submit)
        outcome = await gate.call("pay_either_way", {"amount": 5}, MINE)
        assert (outcome.unwrap(), bank.paid) == (["store_unavailable", "succeeded"], ["card"])
