"""Who makes an approved call: with no more than both may do, and while what they came in with counts."""

from __future__ import annotations

from typing import Any

import pytest

from callgate import Context, Pending, tool
from callgate.errors import ApprovalNotFound
from callgate.model.approval import ApprovalState
from callgate.model.layer import Layer
from callgate.model.levels import Autonomy
from callgate.runtime.gate import Callgate
from callgate.testing import HandClock
from tests.journeys.gates import gate_of
from tests.journeys.program_tools import Town

pytestmark = pytest.mark.usefixtures("on_each_store")

ASKER = Context(principal="crawler", user="ann", session="s")


def till() -> tuple[list[int], Any]:
    """A payment tool and the payments it made."""
    paid: list[int] = []

    @tool(effects="network_access", risk="high")
    async def pay(amount: int) -> str:
        """Pay somebody."""
        paid.append(amount)
        return "paid"

    return paid, pay


async def approved(gate: Callgate, context: Context = ASKER) -> str:
    outcome = await gate.call("pay", {"amount": 5}, context)
    assert isinstance(outcome, Pending)
    await gate.approve(outcome.approval_id, by="ada")
    return outcome.approval_id


@pytest.mark.parametrize(
    "narrow",
    [
        {"layers": [Layer(name="delegation", deny=("pay",))]},
        {"read_only": True},
        {"no_web": True},
        {"autonomy": Autonomy.A0},
    ],
    ids=["layers", "read only", "no web", "A0"],
)
async def test_who_may_not_make_a_call_does_not_make_it_by_collecting(narrow: dict[str, Any]) -> None:
    paid, pay = till()
    async with gate_of(pay) as gate:
        which = await approved(gate)
        outcome = await gate.resume(which, ASKER.narrow(**narrow))
        assert outcome.status in {"refused", "previewed"}
        assert paid == []
        assert (await gate.resume(which, ASKER)).ok
    assert paid == [5]


async def test_nor_does_who_may_ask_for_more_make_more_of_it() -> None:
    paid, pay = till()
    async with gate_of(pay) as gate:
        asked = await gate.call("pay", {"amount": 5}, ASKER.narrow(read_only=True))
        assert asked.status == "refused"
        which = await approved(gate, ASKER.narrow(layers=[Layer(name="task", max_autonomy=Autonomy.A1)]))
        first = (await gate.approval(which)).autonomy
        assert (await gate.resume(which, ASKER)).ok
    assert (first, paid) == ("A1", [5])


async def test_less_autonomy_asks_a_person_anew() -> None:
    paid, pay = till()
    async with gate_of(pay) as gate:
        which = await approved(gate)
        again = await gate.resume(which, ASKER.narrow(autonomy=Autonomy.A1))
        assert isinstance(again, Pending)
        assert again.approval_id != which
        assert (await gate.approval(which)).state is ApprovalState.WITHDRAWN
    assert paid == []


@pytest.mark.parametrize("name", ["principal", "user", "session"])
async def test_for_anybody_else_there_is_no_such_approval(name: str) -> None:
    paid, pay = till()
    asker: dict[str, Any] = {"principal": "crawler", "user": "ann", "session": "s"}
    async with gate_of(pay) as gate:
        which = await approved(gate)
        for other in ("x", None) if name == "user" else ("x",):
            stranger: dict[str, Any] = asker | {name: other}
            with pytest.raises(ApprovalNotFound):
                await gate.resume(which, Context(**stranger))
    assert paid == []


async def test_what_came_in_with_something_that_ends_is_made_before_its_end() -> None:
    paid, pay = till()
    clock = HandClock()
    async with gate_of(pay, clock=clock) as gate:
        which = await approved(gate, Context(expires_at=gate.in_seconds(60)))
        clock.turn(61)
        late = await gate.resume(which)
        assert late.error is not None
        assert (late.error.code, paid) == ("approval_void", [])
        assert "has expired" in late.error.message
        assert (await gate.resume(which, Context())).ok, "who collects it came in with something else"
    assert paid == [5]


@pytest.mark.parametrize("ended", ["revoked", "expired", "never there"])
async def test_a_yes_is_not_used_for_a_credential_that_opens_nothing(ended: str) -> None:
    paid, pay = till()
    clock = HandClock()
    async with gate_of(pay, clock=clock) as gate:
        made, _ = await gate.admit_agent("crawler", by="operator", expires_at=gate.in_seconds(60))
        context = made.context() if ended != "never there" else Context(principal="crawler", credential="nobody's")
        which = await approved(gate, context)
        if ended == "revoked":
            await gate.revoke_credential(made.id, by="operator")
        if ended == "expired":
            clock.turn(61)
        for late in (await gate.resume(which), await gate.call("pay", {"amount": 5}, context)):
            assert late.error is not None
            assert (late.error.code, paid) == ("approval_void", [])
        assert (await gate.approval(which)).state is ApprovalState.APPROVED, "it was not used up"
        new, _ = await gate.admit_agent("crawler", by="operator")
        assert (await gate.resume(which, new.context())).ok
    assert paid == [5]


@pytest.mark.parametrize("rotated", [True, False], ids=["rotated", "revoked"])
async def test_a_program_goes_on_for_a_credential_that_counts(rotated: bool) -> None:
    town = Town()
    async with gate_of(*town.tools) as gate:
        old, _ = await gate.admit_agent("crawler", by="operator")
        asleep = await gate.run_program("await pay(amount=5)", old.context(), program_id="p1")
        await gate.approve(asleep.waiting[0].approval_id, by="ada")
        await gate.revoke_credential(old.id, by="operator")
        new, _ = await gate.admit_agent("crawler", by="operator")
        run = await gate.resume_program("p1", new.context() if rotated else None)
    assert (run.ok, town.paid) == (rotated, [5] if rotated else [])
