"""Several calls at once: answers in order, each with its own end."""

import asyncio
from typing import Any

import pytest

from callgate import tool
from callgate.errors import ConfigurationError, ToolExecutionError
from callgate.model.call import Call
from callgate.model.context import Context
from callgate.testing import memory_gate


@tool(effects="read_only")
async def echo(text: str) -> str:
    """Say it again."""
    return text


@tool(effects="read_only")
async def breaks() -> str:
    """Never ends well."""
    raise ToolExecutionError("broken")


@tool(effects="read_only", timeout=0.02)
async def hangs() -> str:
    """Never ends."""
    await asyncio.Event().wait()
    return ""


@pytest.mark.requirement("BAT-01")
async def test_no_calls_give_no_results_and_one_call_gives_one():
    async with memory_gate(echo) as gate:
        assert await gate.batch([]) == []
        assert await gate.batch([], include_call_ids=True) == []
        (outcome,) = await gate.batch([Call("echo", {"text": "a"})])
        (same,) = await gate.batch([{"name": "echo", "arguments": {"text": "a"}}])
    assert outcome.unwrap() == same.unwrap() == "a"


@pytest.mark.requirement("BAT-02")
async def test_results_come_in_the_order_of_the_calls_whatever_finishes_first():
    finished: list[int] = []
    turns = [asyncio.Event() for _ in range(4)]
    turns[3].set()

    @tool(effects="read_only")
    async def after_the_next(index: int) -> int:
        """End when the call behind has ended, so that the last one ends first."""
        await turns[index + 1].wait()
        finished.append(index)
        turns[index].set()
        return index

    async with asyncio.timeout(30), memory_gate(after_the_next) as gate:
        outcomes = await gate.batch([Call("after_the_next", {"index": index}) for index in range(3)])
    assert finished == [2, 1, 0]
    assert [outcome.unwrap() for outcome in outcomes] == [0, 1, 2]


@pytest.mark.requirement("BAT-03")
async def test_calls_that_may_overlap_start_together():
    all_there = asyncio.Barrier(3)

    @tool(effects="read_only")
    async def meets() -> str:
        """End when all three have started."""
        await all_there.wait()
        return "met"

    async with asyncio.timeout(30), memory_gate(meets) as gate:
        outcomes = await gate.batch([Call("meets", {})] * 3)
    assert [outcome.unwrap() for outcome in outcomes] == ["met"] * 3


@pytest.mark.requirement("BAT-04")
async def test_each_has_its_own_end_and_the_others_succeed():
    calls = [
        Call("echo", {"text": "a"}),
        Call("breaks", {}),
        Call("nowhere", {}),
        Call("hangs", {}),
        Call("echo", {"text": "b"}),
    ]
    async with memory_gate(echo, breaks, hangs) as gate:
        outcomes = await gate.batch(calls)
    assert [outcome.ok for outcome in outcomes] == [True, False, False, False, True]
    codes = [outcome.error.code for outcome in outcomes if outcome.error is not None]
    assert codes == ["handler_failed", "tool_not_found", "timed_out"]
    assert [outcomes[0].unwrap(), outcomes[4].unwrap()] == ["a", "b"]


@pytest.mark.requirement("BAT-04")
async def test_when_all_fail_all_are_errors_and_nothing_raises():
    async with memory_gate(breaks, hangs) as gate:
        outcomes = await gate.batch([Call("breaks", {}), Call("hangs", {}), Call("nowhere", {}), None])
    assert [outcome.status for outcome in outcomes] == ["failed", "failed", "refused", "refused"]


@pytest.mark.requirement("BAT-05")
async def test_with_ids_the_results_are_pairs_and_an_absent_id_is_its_place():
    calls: list[Any] = [
        Call("echo", {"text": "a"}, id="x"),
        Call("echo", {"text": "b"}),
        {"name": "echo", "arguments": {}},
    ]
    async with memory_gate(echo) as gate:
        pairs = await gate.batch(calls, include_call_ids=True)
    assert [name for name, _ in pairs] == ["x", "batch_1", "batch_2"]
    assert [outcome.ok for _, outcome in pairs] == [True, True, False]


@pytest.mark.requirement("BAT-06")
async def test_calls_that_may_not_overlap_do_not():
    inside: list[str] = []

    @tool(effects="system_state", risk="low", concurrency_safe=False)
    async def alone(name: str) -> str:
        """Look whether anybody else is there, for as long as anybody could come."""
        inside.append(name)
        for _ in range(10):
            await asyncio.sleep(0)
        assert inside == [name]
        inside.clear()
        return name

    async with memory_gate(alone) as gate:
        outcomes = await gate.batch([Call("alone", {"name": name}) for name in "abc"])
    assert [outcome.unwrap() for outcome in outcomes] == ["a", "b", "c"]


@pytest.mark.requirement("BAT-07")
@pytest.mark.parametrize(
    "malformed",
    [
        {"name": "echo", "arguments": None},
        {"name": "echo", "arguments": [1]},
        {"name": "echo"},
        {"arguments": {"text": "a"}},
        {"name": None, "arguments": {}},
        {"name": "", "arguments": {}},
        {"name": ["echo"], "arguments": {}},
        {},
        None,
        "echo",
        7,
        Call("echo", None),  # pyright: ignore[reportArgumentType]
        Call(None, {}),  # pyright: ignore[reportArgumentType]
    ],
    ids=repr,
)
async def test_a_malformed_element_is_that_elements_input_error_and_is_recorded(malformed: Any):
    fine = {"name": "echo", "arguments": {"text": "a"}}
    async with memory_gate(echo) as gate:
        outcomes = await gate.batch([fine, malformed, fine])
        recorded = [event async for event in gate.events(types=["tool_call.refused"])]
    assert [outcome.status for outcome in outcomes] == ["succeeded", "refused", "succeeded"]
    error = outcomes[1].error
    assert error is not None
    assert (error.code, error.category.value) == ("invalid_arguments", "user_input_error")
    assert [event.call for event in recorded] == [outcomes[1].call_id]


@pytest.mark.requirement("BAT-08")
async def test_no_two_results_are_under_one_id():
    ids = ["x", "x", "x#2", None, "batch_3", "x", ""]
    calls = [Call("echo", {"text": str(place)}, id=name) for place, name in enumerate(ids)]
    async with memory_gate(echo) as gate:
        pairs = await gate.batch(calls, include_call_ids=True)
    names = [name for name, _ in pairs]
    assert len(set(names)) == len(ids)
    assert (names[0], names[2], names[4]) == ("x", "x#2", "batch_3")
    assert [outcome.unwrap() for _, outcome in pairs] == [str(place) for place in range(len(ids))]


async def test_the_key_of_a_context_names_one_call_and_not_every_call_of_a_batch():
    runs: list[str] = []

    @tool(effects="system_state", risk="low")
    async def note(text: str) -> str:
        """Write it down."""
        runs.append(text)
        return text

    async with memory_gate(note) as gate:
        ground = Context(idempotency_key="k")
        outcomes = await gate.batch([Call("note", {"text": "a"}), Call("note", {"text": "b"}, key="k2")], ground)
        (again,) = await gate.batch([Call("note", {"text": "b"}, key="k2")], ground)
    assert [outcome.status for outcome in outcomes] == ["succeeded", "succeeded"]
    assert again.deduped
    assert runs == ["a", "b"]


@pytest.mark.parametrize(
    ("given", "named"),
    [
        pytest.param(
            {"name": "echo", "arguments": {"text": "a"}}, "not dict; put the one call into a list", id="object"
        ),
        pytest.param(Call("echo", {"text": "a"}), "not Call; put the one call into a list", id="call"),
        pytest.param(None, "not NoneType", id="nothing"),
        pytest.param("echo", "not str", id="name"),
    ],
)
async def test_who_gives_no_list_is_told_what_it_was(given: Any, named: str):
    async with memory_gate(echo) as gate:
        with pytest.raises(ConfigurationError, match=f"batch takes a list of calls, and {named}$"):
            await gate.batch(given)
        with pytest.raises(ConfigurationError, match=f"plan takes a list of calls, and {named}$"):
            await gate.plan(given)


async def test_who_has_a_name_judged_and_no_call_is_told_so():
    async with memory_gate(echo) as gate:
        with pytest.raises(ConfigurationError, match=r"judge takes a Call, as in Call\(tool, arguments\), and not str"):
            await gate.judge("echo")  # pyright: ignore[reportArgumentType]
