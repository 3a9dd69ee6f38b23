"""Tools for models without an API of their own: a grammar to decode by, a catalogue for a crowded prompt."""

from __future__ import annotations

import json

import pytest

from callgate import Context, tool
from callgate.model.layer import Layer
from callgate.testing import memory_gate
from tests.formats.gbnf import Grammar


@tool(name="schedule.create", effects="system_state", risk="low")
async def create(title: str, when: str = "now") -> str:
    """Put something into the calendar.

    And more, for who has the room.
    """
    return f"{title} {when}"


@tool(name="schedule.list", effects="read_only")
async def list_all() -> list[str]:
    """List what is there."""
    return []


@tool(name="task.cancel", effects="system_state", risk="low")
async def cancel(task: int) -> int:
    """Cancel a task."""
    return task


@tool(effects="read_only")
async def now() -> str:
    return "noon"


TOOLS = (cancel, now, list_all, create)
READER = Context(layers=(Layer(name="reader", allow=("group:read",)),))
NOBODY = Context(layers=(Layer(name="nobody", allow=()),))


def call(name: str, arguments: object) -> str:
    return json.dumps({"name": name, "arguments": arguments})


@pytest.mark.requirement("SCH-12")
async def test_a_grammar_admits_calls_of_what_its_asker_may_use_and_nothing_else():
    async with memory_gate(*TOOLS) as gate:
        everything, reading = (Grammar(gate.pool(who).to_grammar()) for who in (Context(), READER))
    for name in ("schedule.create", "schedule.list", "task.cancel", "now"):
        assert everything.admits(call(name, {}))
        assert reading.admits(call(name, {})) is (name in {"schedule.list", "now"})
    for text in (
        "",
        "now",
        call("now", None),
        call("now", [1]),
        call("nowhere", {}),
        call("no", {}),
        '{"name": "now"}',
    ):
        assert not everything.admits(text)


@pytest.mark.requirement("SCH-12")
async def test_without_a_tool_a_grammar_admits_no_call():
    async with memory_gate(*TOOLS) as gate:
        nothing = Grammar(gate.pool(NOBODY).to_grammar())
    assert nothing.admits("")
    assert not nothing.admits(call("now", {}))


ARGUMENTS: list[object] = [
    {"a": [1, -2.5, 1e21, 0], "b": {"c": None, "d": [True, False, {}]}},
    {"text": 'say "hi"\n\\ and \u20ac \x7f'},
    {"": ""},
]


@pytest.mark.parametrize("arguments", ARGUMENTS, ids=["nested", "escaped", "empty"])
async def test_whatever_json_says_can_be_an_argument(arguments: object):
    async with memory_gate(now) as gate:
        grammar = Grammar(gate.pool().to_grammar())
    for text in (call("now", arguments), json.dumps({"name": "now", "arguments": arguments}, separators=(",", ":"))):
        assert grammar.admits(text)
        assert not grammar.admits(text[:-1])


@pytest.mark.requirement("SCH-12")
async def test_what_a_grammar_admits_is_a_call_for_a_batch():
    async with memory_gate(*TOOLS) as gate:
        text = call("task.cancel", {"task": 3})
        assert Grammar(gate.pool().to_grammar()).admits(text)
        [outcome] = await gate.batch([json.loads(text)])
        assert outcome.unwrap() == 3


@pytest.mark.requirement("SCH-13")
async def test_the_catalogue_is_by_name_and_marks_what_must_be_given():
    async with memory_gate(*TOOLS) as gate:
        pool = gate.pool()
        assert pool.to_catalogue().splitlines() == [
            "now()",
            "schedule.create(title*, when?) - Put something into the calendar.",
            "schedule.list() - List what is there.",
            "task.cancel(task*) - Cancel a task.",
        ]
        assert pool.namespaces == ("schedule", "task")
        assert gate.pool(READER).to_catalogue().splitlines()[0] == "now()"
        assert gate.pool(READER).namespaces == ("schedule",)
        assert (gate.pool(NOBODY).to_catalogue(), gate.pool(NOBODY).namespaces) == ("", ())


async def test_a_long_description_is_cut_in_the_catalogue():
    @tool(effects="read_only", description="word " * 100)
    async def wordy() -> None: ...

    async with memory_gate(wordy) as gate:
        [line] = gate.pool().to_catalogue().splitlines()
    assert len(line) < 140
    assert line.endswith("…")
