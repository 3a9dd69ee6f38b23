"""The atomic tools of seed 003: the model, the executor with its events, the adapters of sources, the registry."""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from langchain_core.tools import tool as langchain_tool
from mcp import Client, StdioServerParameters

from callgate import Callgate, Context, Toolkit, register_toolkit, tool
from callgate.adapters.toolkits import toolkit as known
from callgate.compat import (
    AgentRef,
    AtomicTool,
    BuiltinAdapter,
    Capability,
    DeterminismClass,
    DomainEvent,
    Envelope,
    FunctionAdapter,
    LangChainAdapter,
    MCPAdapter,
    SideEffectClass,
    ToolCompleted,
    ToolContext,
    ToolError,
    ToolExecutionError,
    ToolExecutor,
    ToolFailed,
    ToolInvoked,
    ToolNotFoundError,
    ToolPermission,
    ToolPermissionError,
    ToolRegistered,
    ToolRegistry,
    ToolSource,
    ToolTimeout,
    ToolTimeoutError,
    domain_event,
)
from callgate.errors import ApprovalRequired, ConfigurationError, PolicyDenied, SkillNotFoundError
from callgate.events.translation import Told
from callgate.testing import memory_gate
from tests.adapters.mcp.servers import SCRIPT, witnessed
from tests.seeds.witness import ran, story, types


async def double(number: int) -> int:
    """Twice as much."""
    if number < 0:
        raise ValueError("too little")
    return number * 2


def doubling(**fields: Any) -> AtomicTool:
    given: dict[str, Any] = {"name": "double", "description": "Twice as much.", "side_effect_class": "pure"}
    return AtomicTool(**{**given, **fields}).bind(double)


@dataclass
class Trace:
    """The context of a trace, as another system has it."""

    trace_id: str = "trace-7"


ADA = ToolContext(agent_id="ada", trace=Trace(), granted_permissions=[ToolPermission.FS_READ])


@dataclass
class Store:
    """An event store and a bridge of somebody's own; told something it does not like, it raises."""

    kept: list[Envelope] = field(default_factory=list[Envelope])
    sent: list[Envelope] = field(default_factory=list[Envelope])
    broken: bool = False

    async def append(self, envelope: Envelope) -> None:
        if self.broken:
            raise OSError("disk full")
        self.kept.append(envelope)

    def publish(self, envelope: Envelope) -> None:
        self.sent.append(envelope)

    @property
    def events(self) -> list[DomainEvent]:
        return [envelope.event for envelope in self.kept]


def telling(gate: Any, store: Store, **options: Any) -> ToolExecutor:
    return ToolExecutor(gate, event_store=store, bridge=store, **options)


async def test_an_atomic_tool_has_the_fields_and_defaults_of_the_model():
    """Stands for AtomicTool, ToolSource and ToolPermission in section 4.1."""
    made = AtomicTool(name="it", description="")
    assert (made.source, made.determinism_class) == (ToolSource.USER, DeterminismClass.NONDETERMINISTIC)
    assert (made.side_effect_class, made.permissions, made.timeout_ms) == (SideEffectClass.EXTERNAL, [], 30_000)
    assert (made.tags, made.toolkit_name, made.input_schema, made.output_schema) == ([], None, {}, None)
    assert made.tool_id != AtomicTool(name="it", description="").tool_id
    assert made.bind(double) is made
    assert await made.execute(number=2) == 4
    with pytest.raises(ToolExecutionError, match="Tool it has no bound callable"):
        await AtomicTool(name="it", description="").execute()
    assert [each.value for each in ToolPermission] == [
        "fs:read",
        "fs:write",
        "net:outbound",
        "shell:execute",
        "env:read",
        "mcp:connect",
    ]


async def test_a_run_emits_invoked_then_completed_into_the_store_and_over_the_bridge():
    """Stands for ToolExecutor.run in section 5 and for the events of section 6, with their envelopes."""
    store = Store()
    async with memory_gate() as gate:
        executor = telling(gate, store, producer=AgentRef(agent_id="ada", agent_type="researcher"))
        made = doubling()
        assert await executor.run(made, ADA, number=21) == 42
        invoked, completed = store.events
        assert isinstance(invoked, ToolInvoked)
        assert (invoked.tool_id, invoked.tool_name, invoked.input_data) == (made.tool_id, "double", {"number": 21})
        assert isinstance(completed, ToolCompleted)
        assert (completed.tool_id, completed.output_data, completed.event_type()) == (
            made.tool_id,
            42,
            "tool.completed",
        )
        assert completed.duration_ms >= 0
        assert store.sent == store.kept
        assert {(each.trace_id, each.producer.agent_id) for each in store.kept} == {("trace-7", "ada")}
        assert await story(gate) == ran("double")


async def test_what_the_callable_raises_reaches_the_caller_and_is_told_as_failed():
    """Stands for the last branch of run: tool.failed, and the exception itself."""
    store = Store()
    async with memory_gate() as gate:
        with pytest.raises(ValueError, match="too little"):
            await telling(gate, store).run(doubling(), ADA, number=-1)
        _, failed = store.events
        assert isinstance(failed, ToolFailed)
        assert (failed.error, failed.event_type()) == ("too little", "tool.failed")
        assert await types(gate) == ["tool_call.attempted", "tool_call.failed"]


async def test_a_run_past_its_time_is_a_timeout_and_no_failure():
    """Stands for the timeout branch of run: tool.timeout with the tool's limit, then ToolTimeoutError."""

    async def hangs() -> None:
        """Never end."""
        await asyncio.Event().wait()

    store = Store()
    async with memory_gate() as gate:
        made = AtomicTool(name="hangs", description="", side_effect_class=SideEffectClass.PURE, timeout_ms=20)
        with pytest.raises(ToolTimeoutError, match="timed out"):
            await telling(gate, store).run(made.bind(hangs), ADA)
        _, late = store.events
        assert isinstance(late, ToolTimeout)
        assert (late.timeout_ms, late.event_type()) == (20, "tool.timeout")
        assert await types(gate) == ["tool_call.attempted", "tool_call.timed_out"]


async def test_a_missing_permission_is_named_with_the_agent_and_nothing_is_emitted():
    """Stands for _check_permissions: required minus granted, before anything else."""
    store = Store()
    async with memory_gate() as gate:
        made = doubling(permissions=[ToolPermission.FS_READ, ToolPermission.FS_WRITE])
        with pytest.raises(ToolPermissionError, match=r"fs:write.*ada") as caught:
            await telling(gate, store).run(made, ADA, number=1)
        assert "fs:read" not in str(caught.value)
        assert store.kept == []
        assert await types(gate) == ["tool_call.refused"]


async def test_without_a_store_the_result_is_the_same():
    """Stands for an executor without an event store; the gate's own record is there all the same."""
    async with memory_gate() as gate:
        assert await ToolExecutor(gate).run(doubling(), ADA, number=2) == 4
        assert await story(gate) == ran("double")


async def test_a_store_that_fails_does_not_undo_a_call(caplog: pytest.LogCaptureFixture):
    """Stands for _emit where the store is broken: the call is done, and its outcome stays what it is."""
    store = Store(broken=True)
    async with memory_gate() as gate:
        with caplog.at_level(logging.WARNING, logger="callgate"):
            assert await telling(gate, store).run(doubling(), ADA, number=2) == 4
        assert "tool.completed was not handed on: OSError" in caplog.text
        assert "disk full" not in caplog.text
        assert await story(gate) == ran("double")


def test_blocking_gates_tell_the_same():
    """Stands for the executor where the gate has a loop of its own."""
    store = Store()
    with Callgate.open_sync("memory://") as gate:
        assert asyncio.run(telling(gate, store).run(doubling(), ADA, number=2)) == 4
        assert [each.event_type for each in store.kept] == ["tool.invoked", "tool.completed"]


async def test_an_executor_without_a_gate_runs_a_tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Stands for `ToolExecutor()`: nothing is given, and everything is still recorded."""
    monkeypatch.chdir(tmp_path)
    async with ToolExecutor() as executor:
        assert await executor.run(doubling(), ADA, number=2) == 4
        assert await story(executor.gate) == ran("double")


async def test_domain_events_survive_json_and_can_be_listened_to():
    """Stands for the serialization of domain events, and for tool.registered."""
    store, heard = Store(), list[DomainEvent]()
    async with memory_gate() as gate:

        def hear(told: Told) -> None:
            heard.append(domain_event(told))

        gate.on("tool.*", hear, vocabulary="tool")
        ToolRegistry(gate).register(doubling(tags=["maths"]))
        await telling(gate, store).run("double", ADA, number=2)
        await gate.flush()
    registered, *called = heard
    assert isinstance(registered, ToolRegistered)
    assert (registered.tool_name, registered.event_type()) == ("double", "tool.registered")
    assert called == store.events
    body = json.loads(json.dumps(store.kept[0].to_json()))
    assert (body["event_type"], body["trace_id"]) == ("tool.invoked", "trace-7")
    assert body["event"]["input_data"] == {"number": 2}
    assert body["producer"] == {"agent_id": "system", "agent_type": "tool_executor"}


class Clock(Toolkit):
    """A toolkit as the built-in ones are."""

    @tool(effects="read_only")
    def hour(self, place: str) -> str:
        """Tell the hour of a place."""
        return f"noon in {place}"

    @tool(effects=["network_access"], risk="low")
    async def set_alarm(self, hour: int) -> int:
        """Set an alarm."""
        return hour


async def test_the_builtin_adapter_makes_atomic_tools_of_a_toolkit_also_while_a_loop_runs():
    """Stands for BuiltinAdapter.from_toolkit: names, source, tags; and what a method declares still holds."""
    async with memory_gate() as gate:
        hour, alarm = BuiltinAdapter.from_toolkit(Clock(), "clock")
        assert (hour.name, hour.description, hour.source) == ("hour", "Tell the hour of a place.", ToolSource.BUILTIN)
        assert (hour.toolkit_name, hour.tags) == ("clock", ["source:builtin", "toolkit:clock"])
        assert hour.input_schema["required"] == ["place"]
        assert (hour.side_effect_class, alarm.side_effect_class) == (SideEffectClass.PURE, SideEffectClass.EFFECTFUL)
        registry = ToolRegistry(gate)
        registry.register_many([hour, alarm])
        assert gate.tool("set_alarm").side_effects == ("network_access",)
        assert await ToolExecutor(gate).run(registry.get_by_name("hour"), ADA, place="Oslo") == "noon in Oslo"
        assert await hour.execute(place="Rome") == "noon in Rome"
        assert await story(gate) == ran("hour")
        [other, _] = BuiltinAdapter.from_toolkit(Clock, "watch", tags=["small"])
        assert (other.toolkit_name, other.tags) == ("watch", ["source:builtin", "toolkit:watch", "small"])
        other.permissions.append("clock:read")
        with pytest.raises(ConfigurationError, match="declared where it comes from"):
            other.as_tool()


@langchain_tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@langchain_tool
async def shout(text: str) -> str:
    """Say it loudly."""
    return text.upper()


async def test_the_langchain_adapter_runs_a_tool_with_the_arguments_of_the_call():
    """Stands for LangChainAdapter: one tool and several, their schemas, and arguments that arrive."""
    async with memory_gate() as gate:
        adding, shouting = LangChainAdapter.from_langchain_tools([add, shout], side_effect_class=SideEffectClass.PURE)
        assert (adding.name, adding.description) == ("add", "Add two numbers.")
        assert (adding.source, adding.tags) == (ToolSource.LANGCHAIN, ["source:langchain"])
        assert set(adding.input_schema["properties"]) == {"a", "b"}
        executor = ToolExecutor(gate)
        assert await executor.run(adding, ADA, a=1, b=2) == 3
        assert await executor.run(shouting, ADA, text="hey") == "HEY"
        assert await shouting.execute(text="bare") == "BARE"
        assert gate.tool("add").source.value == "langchain"
        assert await story(gate) == ran("add", "shout")
        undeclared = LangChainAdapter.from_langchain_tool(add, name="plus")
        with pytest.raises(PolicyDenied, match="declares no effects"):
            await executor.run(undeclared, ADA, a=1, b=2)


async def test_the_function_adapter_takes_a_function_as_it_is_or_as_it_is_named():
    """Stands for FunctionAdapter.from_function: name, description, schema, tags and further fields."""
    async with memory_gate() as gate:
        plain = FunctionAdapter.from_function(double, side_effect_class=SideEffectClass.PURE)
        assert (plain.name, plain.description, plain.source) == ("double", "Twice as much.", ToolSource.USER)
        assert plain.tags == ["source:user"]
        assert plain.input_schema["properties"]["number"]["type"] == "integer"
        named = FunctionAdapter.from_function(
            double, name="twice", description="Double it.", permissions=["fs:read"], timeout_ms=5000
        )
        assert (named.name, named.description, named.timeout_ms) == ("twice", "Double it.", 5000)
        made = named.as_tool()
        assert (made.id, made.scopes, made.timeout, made.effects) == (named.tool_id, {"fs:read"}, 5.0, frozenset())
        executor = ToolExecutor(gate)
        assert await executor.run(plain, ADA, number=2) == 4
        with pytest.raises(ApprovalRequired):
            await executor.run(named, ADA, number=2)
        assert await story(gate) == [*ran("double"), ("gate.required", "twice")]
        reads = tool(effects="read_only")(double)
        assert FunctionAdapter.from_function(reads).as_tool().read_only
        worst = FunctionAdapter.from_function(reads, side_effect_class=SideEffectClass.EXTERNAL).as_tool()
        assert (worst.read_only, worst.egress) == (False, True)
        with pytest.raises(TypeError, match="has no 'colour'"):
            FunctionAdapter.from_function(double, colour="red")


def server(folder: Path) -> StdioServerParameters:
    return StdioServerParameters(command=sys.executable, args=["-I", str(SCRIPT), str(folder), "plain"])


async def test_the_tools_of_a_session_are_found_registered_and_called(tmp_path: Path):
    """Stands for MCPAdapter and load_mcp_server, with a server that runs and the SDK's own session."""
    declared = {"note": {"effects": "modifies_files", "risk": "low", "destructive": False}, "echo": READS}
    may = Context(scopes=frozenset({"mcp:connect"}), autonomy="A4")  # pyright: ignore[reportArgumentType] - a word will do
    async with Client(server(tmp_path)) as session, memory_gate() as gate:
        registry, executor = ToolRegistry(gate), ToolExecutor(gate)
        found = await registry.load_mcp_server(session, server_name="srv", declare=declared)
        note = registry.get_by_name("srv.note")
        assert note in found
        assert (note.description, note.source, note.permissions) == ("The tool note.", ToolSource.MCP, ["mcp:connect"])
        assert note.tags == ["source:mcp", "mcp_server:srv"]
        assert note.input_schema["required"] == ["text"]
        assert registry.list_tools(source=ToolSource.MCP, tags=["mcp_server:srv"]) == found
        assert await executor.run(note, may, text="hello") == "noted"
        assert witnessed(tmp_path, "notes") == ["hello"]
        with pytest.raises(ToolPermissionError, match="mcp:connect"):
            await executor.run(note, ADA, text="again")
        with pytest.raises(PolicyDenied, match=r"mcp_servers\.srv\.declare"):
            await executor.run("srv.add", may)
        assert await note.execute(text="bare") == "noted"
        assert witnessed(tmp_path, "calls") == ["note", "note"]
        assert await story(gate) == [
            *ran("srv.note"),
            ("tool_call.refused", "srv.note"),
            ("tool_call.refused", "srv.add"),
        ]


READS: dict[str, Any] = {"effects": "read_only"}


@dataclass
class Listed:
    """A tool as a session of the seed lists it."""

    name: str
    description: str | None = None
    inputSchema: dict[str, Any] | None = None  # noqa: N815 - the protocol's own word


class Session:
    """A session with the members that the seed's adapter asks for, and nothing else."""

    server_name = "my-notes"

    def __init__(self, *tools: Any) -> None:
        self.tools = list(tools)
        self.called: list[tuple[str, dict[str, Any]]] = []

    async def list_tools(self) -> list[Any]:
        return self.tools

    async def call_tool(self, name: str, arguments: dict[str, Any]) -> Any:
        self.called.append((name, arguments))
        return {"found": arguments.get("word")}


async def test_a_session_of_any_kind_will_do(caplog: pytest.LogCaptureFixture):
    """Stands for the adapter's own session: server_name, list_tools() and call_tool(name, arguments)."""
    schema = {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]}
    session = Session(Listed("find-note", "Find.", schema), Listed("touch"), Listed("bad\u200bname"))
    async with memory_gate() as gate:
        with caplog.at_level(logging.WARNING, logger="callgate"):
            find, touch = await MCPAdapter(session, declare={"find-note": READS}).discover_tools()
        assert "hidden" in caplog.text
        assert (find.name, touch.name, touch.description) == ("my_notes.find_note", "my_notes.touch", "")
        context = ToolContext(agent_id="ada", granted_permissions=[ToolPermission.MCP_CONNECT])
        assert await ToolExecutor(gate).run(find, context, word="x") == {"found": "x"}
        assert session.called == [("find-note", {"word": "x"})]
        assert await story(gate) == ran("my_notes.find_note")
    with pytest.raises(ConfigurationError, match="give server_name="):
        MCPAdapter(object())
    with pytest.raises(ConfigurationError, match="is no tool of a server"):
        await MCPAdapter(Session(3)).discover_tools()


def test_a_session_is_asked_on_its_own_loop_wherever_the_gate_runs():
    """Stands for the adapter where the gate has a loop of its own and the session another one."""
    session = Session(Listed("touch"))
    asked: list[int] = []

    async def call_tool(name: str, arguments: dict[str, Any]) -> str:
        asked.append(id(asyncio.get_running_loop()))
        return name

    session.call_tool = call_tool  # pyright: ignore[reportAttributeAccessIssue] - a session of this test's own

    async def main() -> None:
        with Callgate.open_sync("memory://") as gate:
            registry = ToolRegistry(gate)
            await registry.load_mcp_server(session, declare={"touch": READS})
            context = Context(scopes=frozenset({"mcp:connect"}))
            outcome = await asyncio.to_thread(gate.call, "my_notes.touch", {}, context)
            assert outcome.unwrap() == "touch"
            assert asked == [id(asyncio.get_running_loop())]

    asyncio.run(main())


async def test_the_registry_finds_by_id_and_name_and_lists_by_source_and_tags():
    """Stands for ToolRegistry in section 8: register, register_many, get_by_id, get_by_name, list_tools."""
    async with memory_gate() as gate:
        registry = ToolRegistry(gate)
        one, two = doubling(tags=["a", "b"]), doubling(name="two", tags=["a"])
        registry.register(one)
        registry.register_many([two, *LangChainAdapter.from_langchain_tools([add], side_effect_class="pure")])
        assert registry.get_by_id(one.tool_id) is registry.get_by_name("double") is one
        assert [each.name for each in registry.list_tools()] == ["double", "two", "add"]
        assert registry.list_tools(tags=["a", "b"]) == [one]
        assert [each.name for each in registry.list_tools(source=ToolSource.LANGCHAIN)] == ["add"]
        for look in (registry.get_by_id, registry.get_by_name):
            with pytest.raises(ToolNotFoundError):
                look("nobody")
        assert await ToolExecutor(gate).run(registry.get_by_name("two"), ADA, number=3) == 6
        assert await story(gate) == ran("two")


async def test_capabilities_are_found_by_how_they_behave():
    """Stands for the capability registry: determinism, side effects and tags of every tool."""
    async with memory_gate() as gate:
        registry = ToolRegistry(gate)
        sure = DeterminismClass.DETERMINISTIC
        registry.register(doubling(determinism_class=sure, tags=["maths"]))
        registry.register(doubling(name="keep", side_effect_class=SideEffectClass.IDEMPOTENT, tags=["maths"]))
        registry.register(doubling(name="wipe", side_effect_class=SideEffectClass.EFFECTFUL))
        registry.register(doubling(name="odd", side_effect_class=SideEffectClass.EXTERNAL, permissions=["env:read"]))
        [first, *_] = registry.capabilities()
        assert isinstance(first, Capability)
        assert (first.capability_id, first.name) == (registry.get_by_name("double").tool_id, "double")
        assert (first.determinism, first.side_effect) == (sure, SideEffectClass.PURE)
        assert first.input_schema == registry.get_by_name("double").input_schema

        def names(**wanted: Any) -> list[str]:
            return [each.name for each in registry.capabilities(**wanted)]

        assert names() == ["double", "keep", "wipe", "odd"]
        assert names(determinism=sure) == names(side_effect=SideEffectClass.PURE) == ["double"]
        assert names(determinism=DeterminismClass.NONDETERMINISTIC, tags=["maths"]) == ["keep"]
        assert names(side_effect=SideEffectClass.EXTERNAL) == ["odd"]
        assert [each.name for each in gate.tools(deterministic=True, read_only=True)] == ["double"]
        assert [each.name for each in gate.tools(idempotent=True)] == ["keep"]
        assert await ToolExecutor(gate).run("double", ADA, number=1) == 2
        assert await story(gate) == ran("double")


async def test_registered_toolkits_are_loaded_and_one_that_fails_is_named(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    """Stands for load_builtin_toolkits, which here tells what it skips."""
    monkeypatch.setattr(known, "_registered", {})
    register_toolkit("clock")(Clock)

    @register_toolkit("broken")
    class Broken(Toolkit):
        def __init__(self) -> None:
            raise OSError("no such host")

    async with memory_gate() as gate:
        registry = ToolRegistry(gate)
        with caplog.at_level(logging.WARNING, logger="callgate"):
            assert registry.load_builtin_toolkits() == 2
        assert "broken" in caplog.text
        assert Broken.__name__ in str(known.registered_toolkits())
        assert [each.name for each in registry.list_tools(source=ToolSource.BUILTIN)] == ["hour", "set_alarm"]
        assert await ToolExecutor(gate).run("hour", ADA, place="Oslo") == "noon in Oslo"
        assert await story(gate) == ran("hour")


async def test_tools_given_to_langchain_go_through_the_gate():
    """Stands for to_langchain_tools: all, or those of some names; permissions, events and limits hold."""
    async with memory_gate() as gate:
        registry = ToolRegistry(gate)
        registry.register_many([doubling(), doubling(name="secret", permissions=["secrets:read"])])
        [given] = registry.to_langchain_tools()
        assert (given.name, given.description) == ("double", "Twice as much.")
        assert await given.ainvoke({"number": 4}) == 8
        assert [each.name for each in registry.to_langchain_tools(["double"])] == ["double"]
        with pytest.raises(ToolNotFoundError):
            registry.to_langchain_tools(["secret"])
        with pytest.raises(ToolNotFoundError):
            registry.to_langchain_tools(["double"], role="stranger")
        assert await story(gate) == ran("double")


def test_every_error_is_a_tool_error():
    """Stands for the error classes of section 10."""
    kinds = (ToolNotFoundError, ToolExecutionError, ToolTimeoutError, ToolPermissionError, SkillNotFoundError)
    assert all(issubclass(kind, ToolError) for kind in kinds)
