"""Skills in the words of their former registry: bound or not, found or not, and narrowed to the tools they name."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from callgate import Callgate
from callgate.compat import (
    AtomicTool,
    SideEffectClass,
    Skill,
    SkillNotFoundError,
    SkillRegistry,
    ToolContext,
    ToolExecutor,
    ToolPermission,
    ToolRegistry,
)
from callgate.errors import (
    ConfigurationError,
    PolicyDenied,
    ToolError,
    ToolExecutionError,
    ToolNotFoundError,
    ToolPermissionError,
)
from callgate.model.context import Context
from callgate.model.levels import Autonomy
from callgate.settings.values import Settings
from callgate.testing import memory_gate

FREE = Settings(autonomy=Autonomy.A4)


async def double(number: int) -> int:
    """Twice as much."""
    return number * 2


def reading(name: str = "double") -> AtomicTool:
    atom = AtomicTool(name=name, permissions=[ToolPermission.FS_READ], side_effect_class=SideEffectClass.PURE)
    return atom.bind(double)


def parts(gate: Callgate, *atoms: AtomicTool) -> tuple[ToolRegistry, ToolExecutor]:
    registry = ToolRegistry(gate)
    registry.register_many(atoms)
    return registry, ToolExecutor(gate)


async def twice(tool_registry: Any, tool_executor: Any, context: Any, *, number: int) -> int:
    tool = tool_registry.get_by_name("double")
    once = await tool_executor.run(tool, context, number=number)
    return await tool_executor.run(tool, context, number=once)


ADA = ToolContext(agent_id="ada", trace="t1", granted_permissions=[ToolPermission.FS_READ])


@pytest.mark.requirement("SKL-01", "SKL-03")
async def test_a_bound_skill_gets_what_it_needs_and_its_calls_are_the_gate_s():
    skill = Skill(name="four_times", description="", tool_names=["double"]).bind_executor(twice)
    async with memory_gate() as gate:
        registry, executor = parts(gate, reading())
        assert await skill.execute(registry, executor, ADA, number=3) == 12
        assert await skill.execute(tool_registry=registry, tool_executor=executor, context=ADA, number=1) == 4
        events = [(event.type, event.trace) async for event in gate.events(types=["tool_call.succeeded"])]
        assert events == [("tool_call.succeeded", "t1")] * 4


@pytest.mark.requirement("SKL-01")
async def test_what_a_plain_function_returns_is_the_result_whatever_it_is_given():
    seen: list[Any] = []

    def plain(tool_registry: Any, tool_executor: Any, context: Any, **kwargs: Any) -> str:
        seen.extend((tool_registry, tool_executor, context, kwargs))
        return "done"

    skill = Skill(name="plain", tool_names=["a"]).bind_executor(plain)
    foreign = object()
    assert await skill.execute(None, foreign, "context", word="x") == "done"
    assert seen == [None, foreign, "context", {"word": "x"}]


@pytest.mark.requirement("SKL-02")
async def test_an_unbound_skill_is_not_implemented_and_an_absent_one_is_not_found():
    registry = SkillRegistry()
    idea = Skill(name="idea", description="Not written yet", tool_names=["double"])
    registry.register(idea)
    assert registry.get("idea") is idea
    assert registry.list_skills() == [idea]
    assert registry.absent_tools("idea") == []
    with pytest.raises(NotImplementedError, match="Skill idea has no bound executor"):
        await idea.execute(None, None, None)
    with pytest.raises(SkillNotFoundError, match="Skill absent not registered"):
        registry.get("absent")
    assert issubclass(SkillNotFoundError, ToolError)
    assert Skill(name="a").skill_id < Skill(name="b").skill_id


@pytest.mark.requirement("SKL-03")
async def test_a_tool_in_a_skill_is_refused_where_its_context_lacks_the_permission():
    skill = Skill(name="four_times", tool_names=["double"]).bind_executor(twice)
    async with memory_gate() as gate:
        registry, executor = parts(gate, reading())
        with pytest.raises(ToolPermissionError, match="fs:read"):
            await skill.execute(registry, executor, ToolContext(agent_id="bob"), number=3)


@pytest.mark.requirement("SKL-04")
async def test_a_skill_calls_only_the_tools_it_names(tmp_path: Path):
    witness = tmp_path / "done"

    async def destroy() -> str:
        """Leave a trace."""
        witness.write_text("done")
        return "done"

    atom = AtomicTool(name="destroy", side_effect_class=SideEffectClass.EFFECTFUL).bind(destroy)

    async def sneaky(tool_registry: Any, tool_executor: Any, context: Any, *, way: str) -> Any:
        ways: dict[str, Callable[[], Awaitable[Any]]] = {
            "by name": lambda: tool_executor.run("destroy", context),
            "by the atom": lambda: tool_executor.run(atom, Context(autonomy=Autonomy.A4)),
            "as json": lambda: tool_executor.execute("destroy", {}, "ada"),
            "as a batch": lambda: tool_executor.execute_batch([{"name": "destroy", "arguments": {}}], "ada"),
            "call": lambda: tool_executor.call("destroy", "", {}, context),
        }
        return await ways[way]()

    skill = Skill(name="sneaky", tool_names=["double"]).bind_executor(sneaky)
    async with memory_gate(config=FREE) as gate:
        registry, executor = parts(gate, reading(), atom)
        for way in ("by name", "by the atom", "call"):
            with pytest.raises(PolicyDenied, match="skill:sneaky"):
                await skill.execute(registry, executor, Context(), way=way)
        for way in ("as json", "as a batch"):
            assert "skill:sneaky" in str(await skill.execute(registry, executor, Context(), way=way))
        assert not witness.exists()
        assert await executor.run(atom, Context()) == "done"


@pytest.mark.requirement("SKL-04")
async def test_a_skill_neither_adds_tools_nor_reaches_further_through_the_gate_of_its_executor():
    atom = AtomicTool(name="brought_along", side_effect_class=SideEffectClass.PURE).bind(double)

    async def sneaky(tool_registry: Any, tool_executor: Any, context: Any) -> list[str]:
        with pytest.raises(ConfigurationError, match="a skill adds no tools"):
            await tool_executor.run(atom, context, number=1)
        refused = await tool_executor.gate.call("other", {"number": 1}, Context())
        await tool_executor.close()
        return [refused.status, type(tool_executor.gate.time_limit("double", Context())).__name__]

    told: list[Any] = []

    class Store:
        async def append(self, envelope: Any) -> None:
            told.append(envelope.event_type)

    skill = Skill(name="sneaky", tool_names=["double", "brought_along"]).bind_executor(sneaky)
    honest = Skill(name="four_times", tool_names=["double"]).bind_executor(twice)
    async with memory_gate() as gate:
        registry, _ = parts(gate, reading(), reading("other"))
        executor = ToolExecutor(gate, event_store=Store())
        assert await skill.execute(registry, executor, Context()) == ["refused", "float"]
        assert await honest.execute(registry, executor, ADA, number=1) == 4
        assert told == ["tool.invoked", "tool.completed"] * 2
        assert await executor.run("other", ADA, number=1) == 2


@pytest.mark.requirement("SKL-04")
async def test_a_skill_sees_only_its_tools_and_cannot_run_them_bare():
    async def look(tool_registry: Any, tool_executor: Any, context: Any) -> Any:
        [listed] = tool_registry.list_tools()
        assert tool_registry.get_by_id(listed.tool_id).name == listed.name == "double"
        with pytest.raises(ToolNotFoundError):
            tool_registry.get_by_name("other")
        with pytest.raises(ToolNotFoundError):
            tool_registry.get_by_id("nothing")
        with pytest.raises(ToolExecutionError, match="no bound callable"):
            await tool_registry.get_by_name("double").execute(number=1)
        return "looked"

    skill = Skill(name="look", tool_names=["double"]).bind_executor(look)
    async with memory_gate() as gate:
        registry, executor = parts(gate, reading(), reading("other"))
        assert await skill.execute(registry, executor, ADA) == "looked"


@pytest.mark.requirement("SKL-04")
async def test_registering_a_skill_that_names_an_absent_tool_is_reported(caplog: pytest.LogCaptureFixture):
    async with memory_gate() as gate:
        tools, _ = parts(gate, reading())
        registry = SkillRegistry(tools)
        with caplog.at_level(logging.WARNING, logger="callgate"):
            registry.register(Skill(name="lacking", tool_names=["double", "absent"]))
        assert "skill lacking names the tool absent, which is not registered" in caplog.text
        assert registry.absent_tools("lacking") == ["absent"]


@pytest.mark.requirement("SKL-01", "SKL-04")
async def test_it_can_be_added_to_a_gate_as_a_tool():
    schema = {"type": "object", "properties": {"number": {"type": "integer"}}, "required": ["number"]}
    skill = Skill(name="four_times", description="Four times", tool_names=["double"], input_schema=schema, tags=["x"])

    async def nosy(tool_registry: Any, tool_executor: Any, context: Any) -> list[str]:
        with pytest.raises(ToolNotFoundError):
            tool_registry.get_by_name("other")
        with pytest.raises(PolicyDenied):
            await tool_executor.run("other", context, number=1)
        return [tool.name for tool in tool_registry.list_tools()]

    def plain(tool_registry: Any, tool_executor: Any, context: Any) -> str:
        return context.chain_id

    async with memory_gate() as gate:
        parts(gate, reading(), reading("other"))
        gate.add(skill.bind_executor(twice).as_skill())
        gate.add(Skill(name="nosy", tool_names=["double"]).bind_executor(nosy).as_skill())
        gate.add(Skill(name="plain", tool_names=["double"]).bind_executor(plain).as_skill())
        gate.add(Skill(name="idea", tool_names=["double"]).as_skill())
        assert (await gate.call("four_times", {"number": 3})).unwrap() == 12
        assert (await gate.call("four_times", {"number": "3"})).status == "refused"
        assert (await gate.call("nosy")).unwrap() == ["double"]
        assert (await gate.call("plain", {}, Context(idempotency_key="k"))).unwrap() == "k"
        assert "no function is bound" in str(await gate.call("idea"))
        tool = gate.tool("four_times")
        assert (tool.description, tool.input_schema, "x" in tool.tags) == ("Four times", schema, True)
