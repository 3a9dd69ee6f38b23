"""Atomic tools: bound, run bare by their author's tests, and run by the gate for everybody else."""

from __future__ import annotations

import asyncio

import pytest

from callgate.compat import AtomicTool, SideEffectClass, ToolContext, ToolExecutor, ToolPermission
from callgate.errors import ConfigurationError, PolicyDenied, ToolExecutionError, ToolPermissionError, ToolTimeoutError
from callgate.model.context import Context
from callgate.testing import memory_gate


async def double(number: int) -> int:
    """Twice as much."""
    return number * 2


def plain(number: int) -> int:
    """Half of it."""
    return number // 2


READS = [ToolPermission.FS_READ]


def reading(name: str = "double") -> AtomicTool:
    return AtomicTool(
        name=name, description="", permissions=list(READS), side_effect_class=SideEffectClass.PURE, timeout_ms=2000
    ).bind(double)


@pytest.mark.requirement("ADP-07")
async def test_a_bound_callable_runs_bare_and_an_unbound_tool_says_so():
    assert await reading().execute(number=2) == 4
    assert await AtomicTool(name="half").bind(plain).execute(number=4) == 2
    with pytest.raises(ToolExecutionError, match="Tool nothing has no bound callable"):
        await AtomicTool(name="nothing").execute()
    with pytest.raises(ToolExecutionError, match="no bound callable"):
        AtomicTool(name="nothing").as_tool()


@pytest.mark.requirement("REG-07")
def test_two_tools_have_two_ids_that_sort_by_creation():
    first, second = reading(), reading()
    assert first.tool_id < second.tool_id


def test_what_it_says_becomes_a_declaration():
    tool = reading().as_tool()
    assert (tool.description, tool.read_only, tool.scopes, tool.timeout) == ("Twice as much.", True, {"fs:read"}, 2.0)
    assert "source:user" in tool.tags
    repeated = AtomicTool(name="it", side_effect_class=SideEffectClass.IDEMPOTENT).bind(double).as_tool()
    assert (repeated.idempotent, repeated.effectful, repeated.declared) == (True, True, True)
    schema = {"type": "object", "properties": {"number": {"type": "integer"}}}
    given = AtomicTool(name="it", input_schema=schema).bind(double).as_tool()
    assert (given.input_schema, given.declared) == (schema, False)


@pytest.mark.parametrize("kind", [SideEffectClass.PURE, SideEffectClass.IDEMPOTENT, SideEffectClass.EFFECTFUL])
def test_the_view_of_a_tool_says_what_the_tool_was_made_from(kind: SideEffectClass):
    atom = AtomicTool(name="it", side_effect_class=kind, permissions=list(READS), tags=["a"]).bind(double)
    view = AtomicTool.of(atom.as_tool())
    assert (view.tool_id, view.name, view.side_effect_class, view.permissions) == (atom.tool_id, "it", kind, READS)
    assert (view.timeout_ms, view.tags, view.toolkit_name) == (30_000, ["source:user", "a"], None)


@pytest.mark.requirement("POL-19")
async def test_the_executor_runs_it_through_the_gate_with_the_permissions_of_its_context():
    async with memory_gate() as gate:
        executor = ToolExecutor(gate)
        tool = reading()
        context = ToolContext(agent_id="ada", trace="t1", granted_permissions=list(READS))
        assert await executor.run(tool, context, number=3) == 6
        told = ToolContext(agent_id="ada", trace=Context(trace_id="t1"), granted_permissions=list(READS))
        assert await executor.run(tool, told, number=4) == 8
        with pytest.raises(ToolPermissionError, match="fs:read"):
            await executor.run(tool, ToolContext(agent_id="bob"), number=3)
        told = [(event.type, event.trace) async for event in gate.events(types=["tool_call.succeeded"])]
        assert told == [("tool_call.succeeded", "t1")] * 2
        assert len(gate.tools()) == 1


async def test_a_tool_that_declares_nothing_is_refused_and_one_name_is_one_tool_s():
    async with memory_gate() as gate:
        executor = ToolExecutor(gate)
        silent = AtomicTool(name="silent").bind(double)
        with pytest.raises(PolicyDenied, match="declares no effects"):
            await executor.run(silent, Context(), number=3)
        with pytest.raises(ConfigurationError, match="already registered"):
            await executor.run(AtomicTool(name="silent").bind(double), Context(), number=3)


async def test_a_context_s_time_is_a_cap():
    async def endless() -> None:
        """Never ends."""
        await asyncio.Event().wait()

    async with memory_gate() as gate:
        tool = AtomicTool(name="endless", side_effect_class=SideEffectClass.PURE).bind(endless)
        with pytest.raises(ToolTimeoutError):
            await ToolExecutor(gate).run(tool, ToolContext(agent_id="ada", timeout_ms=20))
