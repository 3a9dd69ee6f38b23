"""Skills that were approved and stopped inside: which go on without a question, and which are asked about again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from callgate import Failed, NoEffect, Pending, Unknown, tool
from callgate.testing import HandClock, memory_gate
from tests.journeys.gates import parts_of
from tests.journeys.skill_desk import ASKED_ONCE, Desk, approved_skill, report


async def test_a_skill_that_would_go_on_in_another_directory_is_asked_about_again(tmp_path: Path):
    desk = Desk()
    async with memory_gate(report, *desk.tools) as gate:
        inside = await approved_skill(gate)
        elsewhere = await gate.call("report", {"text": "x"}, replace(ASKED_ONCE, working_directory=str(tmp_path)))
        assert isinstance(elsewhere, Pending)
        assert elsewhere.approval_id != inside.approval_id
        assert (await gate.approval(elsewhere.approval_id)).tool == "report"
        assert desk.done == ["before x"]


async def test_a_skill_that_a_person_said_did_not_happen_is_asked_about_again():
    desk = Desk()
    async with memory_gate(report, *desk.tools) as gate:
        inside = await approved_skill(gate)
        await gate.resolve("k1", ASKED_ONCE, happened=False, by="ada")
        again = await gate.call("report", {"text": "x"}, ASKED_ONCE)
        assert isinstance(again, Pending)
        assert again.approval_id != inside.approval_id
        assert (await gate.approval(again.approval_id)).tool == "report"


async def test_a_skill_that_changed_while_it_waited_is_asked_about_again():
    desk = Desk()
    async with memory_gate(report, *desk.tools) as gate:
        await approved_skill(gate)
        gate.add(report, update=True, timeout=77)
        again = await gate.call("report", {"text": "x"}, ASKED_ONCE)
        assert isinstance(again, Pending)
        assert (await gate.approval(again.approval_id)).tool == "report"


async def test_an_approved_call_that_failed_by_itself_is_asked_about_again():
    @tool(effects="network_access", risk="medium", idempotent=True)
    async def knock() -> None:
        """Nobody is there."""
        message = "nobody there"
        raise NoEffect(message)

    async with memory_gate(knock) as gate:
        first = await gate.call("knock", {}, ASKED_ONCE)
        assert isinstance(first, Pending)
        await gate.approve(first.approval_id, by="ada")
        assert isinstance(await gate.call("knock", {}, ASKED_ONCE), Failed)
        again = await gate.call("knock", {}, ASKED_ONCE)
        assert isinstance(again, Pending)
        assert again.approval_id != first.approval_id


async def test_a_row_that_was_edited_to_look_unfinished_lets_no_used_approval_speak_again():
    ran: list[int] = []

    @tool(effects="network_access", risk="medium", idempotent=True)
    async def pay() -> None:
        """Lose the connection."""
        ran.append(1)
        message = "reset"
        raise ConnectionResetError(message)

    async with memory_gate(pay) as gate:
        first = await gate.call("pay", {}, ASKED_ONCE)
        assert isinstance(first, Pending)
        await gate.approve(first.approval_id, by="ada")
        assert isinstance(await gate.call("pay", {}, ASKED_ONCE), Unknown)
        tries = len(ran)
        [row] = await gate.attempts(key="k1")
        await parts_of(gate).store.write(lambda tx: tx.put_attempt(row._replace(cause="nested")))
        again = await gate.call("pay", {}, ASKED_ONCE)
        assert isinstance(again, Pending)
        assert (again.approval_id != first.approval_id, len(ran)) == (True, tries)


async def test_an_edited_skill_goes_on_as_it_was_edited():
    desk = Desk()
    async with memory_gate(report, *desk.tools) as gate:
        first = await gate.call("report", {"text": "x"}, ASKED_ONCE)
        assert isinstance(first, Pending)
        await gate.approve(first.approval_id, by="ada", arguments={"text": "y"})
        inside = await gate.call("report", {"text": "x"}, ASKED_ONCE)
        assert isinstance(inside, Pending)
        await gate.approve(inside.approval_id, by="ada")
        ended = await gate.resume(inside.approval_id)
        assert (ended.unwrap(), desk.done) == ("sent y", ["before y", "sent y", "after y"])


async def test_a_skill_that_went_on_to_its_end_is_asked_about_although_its_row_of_before_was_put_back():
    desk, clock = Desk(), HandClock()
    async with memory_gate(report, *desk.tools, clock=clock) as gate:
        inside = await approved_skill(gate)
        [row] = await gate.attempts(key="k1")
        await gate.approve(inside.approval_id, by="ada")
        assert (await gate.resume(inside.approval_id)).ok
        done = [*desk.done]
        clock.turn(20 * 60)  # an equal success so long ago is no reason to ask
        await parts_of(gate).store.write(lambda tx: tx.put_attempt(row))
        again = await gate.call("report", {"text": "x"}, ASKED_ONCE)
        assert isinstance(again, Pending)
        assert (await gate.approval(again.approval_id)).tool == "report"
        assert desk.done == done
