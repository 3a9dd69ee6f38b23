"""A program is its asker's: for another user, or for somebody who may do less, it neither tells nor does anything."""

from __future__ import annotations

from typing import Any

import pytest

from callgate import Context, ToolContext, tool
from callgate.errors import ProgramConflict, ProgramNotFound
from callgate.model.layer import Layer
from tests.journeys.gates import gate_of
from tests.journeys.program_tools import Town

pytestmark = pytest.mark.usefixtures("on_each_store")

WIDE = Context(session="s1", user="ann")


@tool(effects="read_only")
async def inbox(ctx: ToolContext) -> str:
    """What the user was written."""
    return f"mail of {ctx.context.user}"


async def test_a_program_of_one_user_is_nothing_to_another_of_the_same_session() -> None:
    ann, bob = Context(user="ann"), Context(user="bob")
    async with gate_of(inbox) as gate:
        assert (await gate.run_program("inbox()", ann, program_id="p1")).unwrap() == "mail of ann"
        with pytest.raises(ProgramConflict, match=r"another program.*use another key"):
            await gate.run_program("inbox()", bob, program_id="p1")
        with pytest.raises(ProgramNotFound):
            await gate.resume_program("p1", bob)
        with pytest.raises(ProgramNotFound):
            await gate.find_program("p1", bob)
        assert (await gate.find_program("p1", ann)).ok


async def test_the_model_of_another_user_learns_nothing_by_the_id() -> None:
    async with gate_of(inbox) as gate:
        gate.add_programs()
        mine, other = Context(user="ann", session="s"), Context(user="bob", session="s")
        first = (await gate.call("run_program", {"source": "inbox()"}, mine)).unwrap()
        assert first["value"] == "mail of ann"
        second = await gate.call("run_program", {"program_id": first["program_id"]}, other)
    assert second.status == "failed"
    assert "mail of ann" not in repr(second)


@pytest.mark.parametrize(
    "narrow",
    [
        {"layers": [Layer(name="delegation", deny=("pay",))]},
        {"read_only": True},
        {"no_web": True},
        {"autonomy": "A0"},
        {"scopes": ["fs:read"]},
        {"timeout": 1.0},
    ],
    ids=["layers", "read_only", "no_web", "autonomy", "scopes", "timeout"],
)
async def test_somebody_who_may_do_less_does_not_make_a_program_go_on(narrow: dict[str, Any]) -> None:
    town = Town()
    delegate = WIDE.narrow(**narrow)
    async with gate_of(*town.tools) as gate:
        run = await gate.run_program("pay(5)", WIDE, program_id="p1")
        await gate.approve(run.waiting[0].approval_id, by="op")
        with pytest.raises(ProgramConflict, match="may do more than this one"):
            await gate.resume_program("p1", delegate)
        with pytest.raises(ProgramConflict, match="may do more than this one"):
            await gate.run_program("pay(5)", delegate, program_id="p1")
        assert town.paid == []
        assert (await gate.resume_program("p1", WIDE.narrow(task_id="later"))).ok
    assert town.paid == [5]


async def test_the_model_of_a_delegate_does_not_make_a_program_go_on() -> None:
    town = Town()
    async with gate_of(*town.tools) as gate:
        gate.add_programs()
        first = (await gate.call("run_program", {"source": "pay(5)"}, WIDE)).unwrap()
        await gate.approve(first["waiting_for"][0]["approval_id"], by="op")
        delegate = WIDE.narrow(layers=[Layer(name="delegation", deny=("pay",))])
        refused = await gate.call("run_program", {"program_id": first["program_id"]}, delegate)
        assert (refused.status, town.paid) == ("failed", [])
        done = (await gate.call("run_program", {"program_id": first["program_id"]}, WIDE)).unwrap()
    assert (done["state"], town.paid) == ("finished", [5])


async def test_who_may_do_more_lets_a_program_go_on_under_what_it_was_begun_with() -> None:
    town = Town()

    @tool(effects="read_only")
    async def limits(ctx: ToolContext) -> list[str]:
        """Under which layers it was called."""
        return [layer.name for layer in ctx.context.layers]

    narrow = WIDE.narrow(layers=[Layer(name="delegation", deny=("send",))])
    async with gate_of(*town.tools, limits) as gate:
        run = await gate.run_program("pay(5)\nlimits()", narrow, program_id="p1")
        await gate.approve(run.waiting[0].approval_id, by="op")
        done = await gate.resume_program("p1", WIDE)
    assert (done.unwrap(), town.paid) == (["delegation"], [5])
