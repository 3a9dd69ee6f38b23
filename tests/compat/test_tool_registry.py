"""Three conventions of keeping tools, each over the one gate."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from callgate import BaseTool, Callgate, Toolkit, register_toolkit, tool
from callgate.adapters.toolkits import toolkit as known
from callgate.compat import (
    AtomicTool,
    PolicyLayer,
    SideEffectClass,
    ToolCallContext,
    ToolConfig,
    ToolExecutor,
    ToolHealth,
    ToolOutput,
    ToolPermissions,
    ToolRegistry,
    ToolSource,
)
from callgate.errors import ApprovalRequired, ConfigurationError, ScopeViolation, ToolError, ToolNotFoundError
from callgate.model.health import Health
from callgate.model.layer import Layer, LayerKind
from callgate.model.levels import HealthStatus, Risk
from callgate.settings.values import Role, Settings
from callgate.testing import memory_gate

HERE = "tests.adapters.registry_handlers"
REGISTRY = f"""
tools:
  fetch_docs:
    description: Fetch documentation
    category: web
    side_effects: [read_only, network_access]
    parameters:
      url: {{type: string}}
    handler: {HERE}:fetch_docs
  note:
    description: Write something down
    category: data
    side_effects: [modifies_files]
    risk: low
    destructive: false
    allowed_callers: [direct, chain]
    parameters: {{text: string}}
    handler: {HERE}:anything
  wipe:
    description: Remove everything
    category: system
    side_effects: [system_state]
    destructive: true
    handler: {HERE}:anything
    parameters: {{}}
  gone:
    description: Its code is missing
    category: data
    side_effects: [read_only]
    handler: {HERE}:nothing_of_that_name
  bad name: {{}}
"""


@pytest.fixture
def registry(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> Iterator[ToolRegistry]:
    path = tmp_path / "tool_registry.yaml"
    path.write_text(REGISTRY)
    with Callgate.open_sync("memory://") as gate:
        registry = ToolRegistry(gate)
        with caplog.at_level(logging.WARNING, logger="callgate"):
            assert registry.load_from_yaml(path) == 4
        assert "bad name" in caplog.text
        yield registry


def test_the_example_of_the_chapter_runs(registry: ToolRegistry):
    registry.set_permissions("frontdoor", ToolPermissions(web_access=True, allowed_categories=("web",)))
    assert registry.can_use_tool("frontdoor", "fetch_docs")
    result = registry.invoke("fetch_docs", role="frontdoor", url="https://example.com")
    assert isinstance(result, ToolOutput)
    assert (result.ok, result.status, result.output) == (True, "success", {"url": "https://example.com", "depth": 1})
    assert result.side_effects_declared == ["network_access", "read_only"]


def test_it_runs_on_a_gate_of_its_own_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    Path("tool_registry.yaml").write_text(REGISTRY)
    with ToolRegistry() as registry:
        registry.close()
        registry.load_from_yaml("tool_registry.yaml")
        registry.add_role_policy("frontdoor", PolicyLayer("frontdoor", frozenset({"group:read"})))
        assert registry.invoke("fetch_docs", role="frontdoor", url="https://example.com").ok
    assert Path(".callgate/callgate.db").exists()


@pytest.mark.requirement("REG-11")
def test_a_file_that_is_not_there_loads_nothing_and_is_warned_of(
    registry: ToolRegistry, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    with caplog.at_level(logging.WARNING, logger="callgate"):
        assert registry.load_from_yaml(tmp_path / "nowhere.yaml") == 0
    assert "nowhere.yaml" in caplog.text
    assert registry.load_from_yaml(tmp_path / "tool_registry.yaml") == 4


def test_a_name_that_is_another_s_is_warned_of_and_not_counted(
    registry: ToolRegistry, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    path = tmp_path / "other.yaml"
    path.write_text(REGISTRY)
    with caplog.at_level(logging.WARNING, logger="callgate"):
        assert registry.load_from_yaml(path) == 0
    assert "cannot take its place" in caplog.text


@pytest.mark.requirement("REG-14")
def test_a_tool_without_its_handler_is_no_success(registry: ToolRegistry):
    registry.add_role_policy("worker", PolicyLayer("worker"))
    result = registry.invoke("gone", role="worker")
    assert (result.ok, result.status) == (False, "error")
    assert result.metadata["error"]["category"] == "configuration_error"
    assert not registry.can_use_tool("worker", "gone")


def test_a_role_nobody_spoke_of_may_nothing(registry: ToolRegistry):
    assert not registry.can_use_tool("stranger", "fetch_docs")
    assert registry.list_tools("stranger") == []
    assert not registry.invoke("fetch_docs", role="stranger", url="https://example.com").ok
    with pytest.raises(ConfigurationError, match="give role="):
        registry.invoke("fetch_docs", url="https://example.com")


def test_what_is_destructive_waits_for_a_person(registry: ToolRegistry):
    registry.add_role_policy("worker", PolicyLayer("worker"))
    result = registry.invoke("wipe", role="worker")
    assert (result.status, result.requires_approval) == ("pending_approval", True)


def test_a_context_narrows_and_an_unknown_word_in_it_is_told(registry: ToolRegistry):
    registry.add_role_policy("worker", PolicyLayer("worker"))
    assert registry.can_use_tool("worker", "note")
    assert not registry.can_use_tool("worker", "note", context={"read_only": True})
    assert not registry.can_use_tool("worker", "fetch_docs", context={"no_web": True})
    assert not registry.can_use_tool("worker", "note", {"layers": [Layer(name="delegated", deny=("note",))]})
    with pytest.raises(ConfigurationError, match="red_only"):
        registry.can_use_tool("worker", "note", context={"red_only": True})
    assert not registry.invoke("note", "worker", {"read_only": True}, text="a").ok


@pytest.mark.requirement("POL-15")
def test_a_global_policy_holds_for_all_and_a_role_s_own_replaces_its_permissions(registry: ToolRegistry):
    registry.set_permissions("worker", ToolPermissions(allowed_categories=("data",)))
    assert registry.can_use_tool("worker", "note")
    assert not registry.can_use_tool("worker", "fetch_docs")
    registry.add_role_policy("worker", PolicyLayer("worker", frozenset({"fetch_docs", "note"})))
    assert registry.can_use_tool("worker", "fetch_docs")
    registry.add_global_policy(PolicyLayer("global", deny=frozenset({"note"})))
    assert not registry.can_use_tool("worker", "note")


@pytest.mark.requirement("REG-08")
def test_a_role_is_listed_what_it_may_use(registry: ToolRegistry):
    registry.add_role_policy("worker", PolicyLayer("worker", frozenset({"group:read", "wipe"})))
    listed = {entry["name"]: entry for entry in registry.list_tools("worker")}
    assert set(listed) == {"fetch_docs", "wipe"}
    assert listed["wipe"]["destructive"] is True
    assert "destructive" not in listed["fetch_docs"]


def test_what_a_chain_may_call(registry: ToolRegistry):
    assert registry.get_chainable_tools() == ["fetch_docs", "note", "gone"]


def test_a_role_of_the_configuration_stays_what_it_is(tmp_path: Path):
    (tmp_path / "t.yaml").write_text(REGISTRY)
    reader = Role(
        name="worker", scopes=frozenset({"*"}), layer=Layer(name="worker", kind=LayerKind.ROLE, allow=("note",))
    )
    with Callgate.open_sync("memory://", Settings(roles={"worker": reader})) as gate:
        registry = ToolRegistry(gate)
        registry.load_from_yaml(tmp_path / "t.yaml")
        registry.add_role_policy("worker", PolicyLayer("more", frozenset({"fetch_docs", "note"})))
        registry.add_role_policy("other", PolicyLayer("other"))
        assert registry.can_use_tool("worker", "note")
        assert not registry.can_use_tool("worker", "fetch_docs")
        assert not registry.can_use_tool("other", "note")


@pytest.mark.requirement("SCH-11")
def test_a_parameter_may_be_called_role(registry: ToolRegistry):
    registry.register(AtomicTool(name="cast", side_effect_class=SideEffectClass.PURE).bind(_cast))
    registry.add_role_policy("worker", PolicyLayer("worker"))
    assert registry.invoke("cast", "worker", role="king", context="play").output == "king of play"


def _cast(role: str, context: str) -> str:
    return f"{role} of {context}"


async def test_over_an_async_gate_an_invocation_is_awaited(tmp_path: Path):
    (tmp_path / "t.yaml").write_text(REGISTRY)
    async with memory_gate() as gate:
        registry = ToolRegistry(gate)
        registry.load_from_yaml(tmp_path / "t.yaml")
        registry.add_role_policy("worker", PolicyLayer("worker"))
        assert (await registry.invoke("fetch_docs", role="worker", url="https://example.com")).ok


class Gmail(BaseTool):
    """Mail."""

    actions = {  # noqa: RUF012 - as users write it
        "send": {"type": "object", "properties": {"to": {"type": "string"}}, "required": ["to"]},
        "search": {"type": "object"},
    }
    effects = {"send": "network_access", "search": ["read_only", "network_access"]}  # noqa: RUF012
    risk_map = {"send": "high"}  # noqa: RUF012

    @property
    def tool_name(self) -> str:
        return "gmail"

    @property
    def capabilities(self) -> list[str]:
        return ["mail"]

    @property
    def scopes_required(self) -> list[str]:
        return ["gmail:use"]

    def execute(self, action: str, request: dict[str, Any], context: ToolCallContext) -> Any:
        return {"action": action, "to": request.get("to"), "trace": context.trace_id}

    def preview(self, action: str, request: dict[str, Any], context: ToolCallContext) -> Any:
        return f"{action} to {request.get('to')}"


@pytest.mark.requirement("REG-09", "REG-10")
async def test_a_tool_with_actions_is_registered_found_and_its_health_told():
    async with memory_gate() as gate:
        registry = ToolRegistry(gate)
        registry.register(Gmail(), ToolConfig(connector_id="google", risk_map={"search": "medium"}, config_ref="db:1"))
        found = registry.get("gmail")
        assert found is not None
        assert (found.connector_id, found.capabilities, found.scopes) == ("google", ["mail"], ["gmail:use"])
        assert (found.risk_default, found.risk_map) == (Risk.HIGH, {"send": Risk.HIGH, "search": Risk.MEDIUM})
        assert (found.supports_preview, found.provider_type, found.config_ref) == (True, "native", "db:1")
        assert found.health.status is HealthStatus.HEALTHY
        assert registry.get("slack") is None
        assert [each.tool_name for each in registry.list_healthy()] == ["gmail"]
        at = datetime(2026, 1, 1, tzinfo=UTC)
        registry.update_health(
            "gmail", ToolHealth(status=HealthStatus.UNAVAILABLE, last_error="down", last_success_at=at)
        )
        assert registry.list_healthy() == []
        again = registry.get("gmail")
        assert again is not None
        assert (again.health.status, again.health.last_error) == (HealthStatus.UNAVAILABLE, "down")
        assert again.health.last_success_at == at
        registry.update_health("gmail", Health())
        assert len(registry.list_healthy()) == 1
        with pytest.raises(ToolNotFoundError, match="Unknown tool: slack"):
            registry.update_health("slack", ToolHealth())


@pytest.mark.requirement("REG-10")
async def test_the_health_of_a_tool_follows_its_calls():
    """A success zeroes the errors in a row, an error counts up and is kept."""
    line_up = True

    class Mail(Gmail):
        def execute(self, action: str, request: dict[str, Any], context: ToolCallContext) -> Any:
            if not line_up:
                raise ConnectionRefusedError(f"no answer to {request['to']}")
            return "sent"

    async with memory_gate() as gate:
        registry, executor = ToolRegistry(gate), ToolExecutor(gate)
        registry.register(Mail())

        async def health_after(to: str) -> ToolHealth:
            granted = frozenset({"gmail:use"})
            asker = ToolCallContext(trace_id="t", idempotency_key=to, autonomy_level="A4", granted_scopes=granted)
            with suppress(ToolError):
                await executor.call("gmail", "search", {"to": to}, asker)
            found = registry.get("gmail")
            assert found is not None
            return found.health

        first = await health_after("ada")
        assert (first.consecutive_errors, first.last_error) == (0, None)
        assert first.last_success_at is not None
        line_up = False
        one, two = await health_after("bob"), await health_after("cid")
        assert [each.consecutive_errors for each in (one, two)] == [1, 2]
        assert two.last_error is not None
        assert two.last_success_at == first.last_success_at
        line_up = True
        last = await health_after("dan")
        assert (last.status, last.consecutive_errors) == (HealthStatus.HEALTHY, 0)
        assert last.last_error == two.last_error
        assert last.last_success_at is not None
        assert last.last_success_at > first.last_success_at


async def test_an_action_that_is_not_there_has_no_risk():
    async with memory_gate() as gate:
        with pytest.raises(ConfigurationError, match="no action 'delete'"):
            ToolRegistry(gate).register(Gmail(), ToolConfig(risk_map={"delete": "low"}))
        ToolRegistry(gate).register(Gmail())
        assert gate.tool("gmail.send").base_risk is Risk.HIGH


async def test_the_executor_calls_an_action_under_the_asker_s_context():
    async with memory_gate() as gate:
        ToolRegistry(gate).register(Gmail())
        tool_executor = ToolExecutor(gate)
        context = ToolCallContext(
            trace_id="t1", idempotency_key="k1", autonomy_level="A4", granted_scopes=frozenset({"gmail:use"})
        )
        sent = await tool_executor.call("gmail", "send", {"to": "ada"}, context)
        assert sent == {"action": "send", "to": "ada", "trace": "t1"}
        assert await tool_executor.call("gmail", "send", {"to": "ada"}, context) == sent
        with pytest.raises(ScopeViolation):
            await tool_executor.call("gmail", "search", {}, ToolCallContext(trace_id="t2"))
        asked = ToolCallContext(trace_id="t3", granted_scopes=frozenset({"gmail:use"}))
        with pytest.raises(ApprovalRequired):
            await tool_executor.call("gmail", "send", {"to": "bob"}, asked)


@pytest.mark.requirement("REG-04", "REG-06")
async def test_atomic_tools_are_found_by_id_and_name_and_listed_by_source_and_tags():
    async with memory_gate() as gate:
        registry = ToolRegistry(gate)
        one = AtomicTool(name="one", description="One", permissions=["fs:read"], tags=["a", "b"]).bind(_cast)
        two = AtomicTool(name="two", side_effect_class=SideEffectClass.EFFECTFUL, tags=["a"]).bind(_cast)
        registry.register_many([one, two])
        assert registry.get_by_id(one.tool_id) is registry.get_by_name("one") is one
        assert registry.list_tools() == [one, two]
        assert registry.list_tools(tags=["a", "b"]) == [one]
        assert registry.list_tools(ToolSource.MCP) == registry.list_tools(source=ToolSource.BUILTIN) == []
        assert registry.list_tools(source=ToolSource.USER) == [one, two]
        with pytest.raises(ToolNotFoundError):
            registry.get_by_id("nobody")
        with pytest.raises(ToolNotFoundError, match="Unknown tool: three"):
            registry.get_by_name("three")
        with pytest.raises(ConfigurationError, match="already registered"):
            registry.register(AtomicTool(name="one", permissions=["fs:read"]).bind(_cast))


@pytest.mark.requirement("REG-05")
async def test_after_an_update_one_entry_has_the_name_and_the_old_id_is_gone():
    """T25: no orphan of a replaced tool stays."""
    async with memory_gate() as gate:
        registry = ToolRegistry(gate)
        one = AtomicTool(name="one", description="One", permissions=["fs:read"]).bind(_cast)
        registry.register(one)
        newer = AtomicTool(name="one", description="Newer", permissions=["fs:read"]).bind(_cast).as_tool()
        gate.add(newer, update=True)
        assert [each.tool_id for each in registry.list_tools()] == [newer.id]
        assert registry.get_by_id(newer.id).description == "Newer"
        with pytest.raises(ToolNotFoundError):
            registry.get_by_id(one.tool_id)


@pytest.mark.requirement("ADP-02", "ADP-08")
async def test_registered_toolkits_load_and_what_fails_is_named(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    monkeypatch.setattr(known, "_registered", {})

    @register_toolkit
    class BrokenToolkit(Toolkit):
        def __init__(self) -> None:
            raise OSError("no such host")

    @register_toolkit
    class BirdsToolkit(Toolkit):
        @tool(effects="read_only")
        def sing(self) -> str:
            """Sing."""
            return "la"

    async with memory_gate() as gate:
        registry = ToolRegistry(gate)
        with caplog.at_level(logging.WARNING, logger="callgate"):
            assert registry.load_builtin_toolkits() == 1
        [sing] = registry.list_tools(source=ToolSource.BUILTIN)
        assert (sing.name, sing.toolkit_name, sing.tags) == ("sing", "birds", ["source:builtin", "toolkit:birds"])
        assert "no such host" in caplog.text
        assert known.registered_toolkits() == {"broken": BrokenToolkit, "birds": BirdsToolkit}
        assert registry.list_tools(tags=["toolkit:birds"]) == [sing]
        assert BirdsToolkit().sing() == await sing.execute() == "la"
        assert gate.pool().names == ("sing",)


def test_a_tool_that_is_updated_under_its_id_leaves_the_groups_it_is_in_no_more(tmp_path: Path):
    def made(effects: str) -> Any:
        def note(text: str) -> str:
            """Note."""
            (tmp_path / effects).write_text(text)
            return text

        return tool(id="note-1", effects=effects, risk="low")(note)

    with Callgate.open_sync("memory://") as gate:
        gate.add(made("read_only"))
        registry = ToolRegistry(gate)
        registry.add_role_policy("front", PolicyLayer("front", allow=frozenset({"group:read"})))
        assert registry.can_use_tool("front", "note")
        assert registry.invoke("note", role="front", text="hi").ok
        gate.add(made("system_state"), update=True)
        assert not registry.can_use_tool("front", "note")
        registry.invoke("note", role="front", text="hi")
    assert [each.name for each in tmp_path.iterdir()] == ["read_only"]
