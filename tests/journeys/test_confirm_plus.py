"""*confirm +*: by somebody signed in where the store knows people, and by another than the user where there is one."""

from __future__ import annotations

from typing import Any

import pytest

from callgate import Context, Pending, tool
from callgate.errors import ApprovalConflict, AssuranceTooLow
from callgate.model.approval import ApprovalState
from callgate.model.credential import Right
from callgate.model.levels import Assurance
from callgate.runtime.gate import Callgate
from callgate.testing import HandClock
from tests.journeys.gates import gate_of

pytestmark = pytest.mark.usefixtures("on_each_store")

LOCAL, SIGNED_IN = Assurance.LOCAL, Assurance.SIGNED_IN


def launcher() -> tuple[list[str], Any]:
    """A tool of critical risk, and what it did."""
    done: list[str] = []

    @tool(effects="system_state", risk="critical")
    async def launch() -> str:
        """Launch it."""
        done.append("launched")
        return "launched"

    return done, launch


async def ask(gate: Callgate, user: str | None = None) -> str:
    outcome = await gate.call("launch", {}, Context(user=user))
    assert isinstance(outcome, Pending)
    return outcome.approval_id


async def test_where_the_store_knows_people_one_of_them_signs_in() -> None:
    done, launch = launcher()
    async with gate_of(launch) as gate:
        await gate.admit_person("ada", by="operator")
        which = await ask(gate)
        with pytest.raises(AssuranceTooLow, match="signed_in or better"):
            await gate.approve(which, by="ada", assurance=LOCAL)
        assert (await gate.resume(which)).status == "pending"
        assert done == []
        await gate.approve(which, by="ada", assurance=SIGNED_IN)
        assert (await gate.resume(which)).ok
    assert done == ["launched"]


async def test_people_who_cannot_decide_here_leave_it_to_the_terminal() -> None:
    done, launch = launcher()
    clock = HandClock()
    async with gate_of(launch, clock=clock) as gate:
        await gate.admit_person("reader", by="operator", rights=[Right.READ, Right.ADMINISTER])
        gone, _ = await gate.admit_person("gone", by="operator")
        await gate.revoke_credential(gone.id, by="operator")
        await gate.admit_person("guest", by="operator", expires_at=gate.in_seconds(60))
        await gate.admit_agent("crawler", by="operator")
        clock.turn(61)
        which = await ask(gate)
        with pytest.raises(AssuranceTooLow, match="local or better"):
            await gate.approve(which, by="ada", assurance=Assurance.CLIENT)
        await gate.approve(which, by="ada", assurance=LOCAL)
        assert (await gate.resume(which)).ok
    assert done == ["launched"]


@pytest.mark.parametrize("user", ["bob", " Bob"])
async def test_where_somebody_else_can_the_user_does_not(user: str) -> None:
    done, launch = launcher()
    async with gate_of(launch) as gate:
        for name in ("ada", "bob"):
            await gate.admit_person(name, by="operator")
        which = await ask(gate, user)
        with pytest.raises(ApprovalConflict, match="other than its user"):
            await gate.approve(which, by="bob", assurance=SIGNED_IN)
        assert done == []
        await gate.approve(which, by="ada", assurance=SIGNED_IN)
        assert (await gate.resume(which)).ok
    assert done == ["launched"]


async def test_the_only_one_there_is_decides_also_for_themselves() -> None:
    done, launch = launcher()
    async with gate_of(launch) as gate:
        await gate.admit_person("bob", by="operator")
        which = await ask(gate, "bob")
        await gate.approve(which, by="bob", assurance=SIGNED_IN)
        assert (await gate.resume(which)).ok
    assert done == ["launched"]


async def test_who_is_let_in_between_the_yes_and_its_use_is_asked_as_well() -> None:
    done, launch = launcher()
    async with gate_of(launch) as gate:
        first = await ask(gate, "bob")
        await gate.approve(first, by="bob", assurance=LOCAL)
        await gate.admit_person("ada", by="operator")
        again = await gate.resume(first)
        assert isinstance(again, Pending)
        assert again.approval_id != first
        assert (await gate.approval(first)).state is ApprovalState.WITHDRAWN
        assert done == []
        decision = await gate.explain("launch", {}, Context(user="bob"))
        assert (decision.by.value, decision.assurance) == ("other", SIGNED_IN)
