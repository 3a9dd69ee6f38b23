"""What a preview returns: the text that a person reads, and the state that their yes is bound to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from callgate import Context, Pending, Preview, Previewed, ToolContext, tool
from callgate.model.levels import Autonomy
from callgate.testing import ScriptedApprover, memory_gate
from tests.journeys import isolated_tools

STATES: list[tuple[Any, Any]] = [
    ("etag", "etag-2"),
    (7, 8),
    (7.5, 7.25),
    (True, False),
    (["a", "b"], ["b", "a"]),
    (("a", "b"), ("a", "c")),
    ({"b": 1, "a": 2}, {"b": 1, "a": 3}),
    (b"x", b"y"),
]


def as_mapping(state: Any) -> Any:
    return {"text": "would save", "state": state}


def as_preview(state: Any) -> Any:
    return Preview(text="would save", state=state)


@pytest.mark.parametrize("form", [as_mapping, as_preview])
@pytest.mark.parametrize(("state", "other"), STATES)
async def test_a_handler_knows_the_state_that_was_shown_whatever_it_is(
    form: Callable[[Any], Any], state: Any, other: Any
):
    def preview(_arguments: dict[str, Any], _context: ToolContext) -> Any:
        return form(state)

    @tool(effects="system_state", risk="high", preview=preview)
    def save(ctx: ToolContext) -> list[bool]:
        """Save."""
        return [ctx.is_as_shown(state), ctx.is_as_shown(other)]

    async with memory_gate(save, ask=ScriptedApprover("approve")) as gate:
        assert (await gate.call("save", {})).unwrap() == [True, False]


@pytest.mark.parametrize(("state", "other"), STATES)
async def test_another_state_voids_the_approval_whatever_it_is(state: Any, other: Any):
    world = [state]

    def preview(_arguments: dict[str, Any], _context: ToolContext) -> Any:
        return {"state": world[0]}

    @tool(effects="system_state", risk="high", preview=preview)
    def save() -> str:
        """Save."""
        return "saved"

    async with memory_gate(save) as gate:
        asked = await gate.call("save", {})
        assert isinstance(asked, Pending)
        await gate.approve(asked.approval_id, by="ann")
        world[0] = other
        outcome = await gate.resume(asked.approval_id)
        assert outcome.error is not None
        assert outcome.error.code == "approval_void"


async def test_a_handler_in_a_process_of_its_own_knows_it_as_well():
    async with memory_gate(isolated_tools.save, ask=ScriptedApprover("approve")) as gate:
        assert (await gate.call("save", {"version": 7})).unwrap() == [True, False]


@pytest.mark.parametrize(
    ("shown", "text"),
    [
        ({"text": "would save page 7", "state": "v1"}, "would save page 7"),
        ({"text": 7}, "7"),
        ({"page": 7}, "{'page': 7}"),
        ("would save page 7", "would save page 7"),
        (Preview(text="would save page 7"), "would save page 7"),
    ],
    ids=["mapping", "number", "no text", "text", "preview"],
)
async def test_a_person_reads_the_text_of_a_preview(shown: Any, text: str):
    def preview(_arguments: dict[str, Any], _context: ToolContext) -> Any:
        return shown

    @tool(effects="system_state", risk="high", preview=preview)
    def save() -> str:
        """Save."""
        return "saved"

    approver = ScriptedApprover("approve")
    async with memory_gate(save, ask=approver) as gate:
        previewed = await gate.call("save", {}, Context(autonomy=Autonomy.A0))
        assert isinstance(previewed, Previewed)
        assert previewed.preview is not None
        assert previewed.preview.text == text
        assert (await gate.call("save", {})).ok
    assert [question.preview for question in approver.seen] == [{"text": text}]
