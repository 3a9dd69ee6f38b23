"""The registry and permissions of seed 004: YAML, side effects, ToolOutput, the policy cascade, plugins."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from dataclasses import FrozenInstanceError
from pathlib import Path
from typing import Any

import pytest

from callgate import Callgate, Context, YamlRegistry
from callgate.compat import (
    PolicyLayer,
    SideEffect,
    ToolCategory,
    ToolOutput,
    ToolPermissions,
    ToolPluginLoader,
    ToolRegistry,
    permissions_to_policy,
    resolve_policy_chain,
)
from callgate.settings.load import parse_settings
from callgate.testing import memory_gate
from tests.seeds.witness import ran, story, told

HERE = "tests.seeds.file_tools"
REGISTRY = f"""
permissions:
  network: {{description: Requests, requires_approval: false}}
  filesystem: {{description: Files, requires_approval: true, allowed_paths: ["notes/"]}}
tools:
  - name: run_shell
    description: Sandboxed shell command execution
    category: code
    permission: shell
    side_effects: [local_exec, modifies_files, system_state]
    destructive: true
    parameters: {{command: {{type: string, required: true}}}}
    handler: {HERE}:run_shell
  - name: read_file
    description: Read a file
    category: system
    permission: filesystem
    side_effects: [read_only]
    parameters: {{path: {{type: string, required: true}}}}
    handler: {HERE}:read_file
  - name: write_file
    description: Write a file
    category: system
    permission: filesystem
    side_effects: [modifies_files]
    risk: low
    destructive: false
    allowed_callers: [direct, chain]
    parameters: {{path: {{type: string, required: true}}, content: {{type: string, required: true}}}}
    handler: {HERE}:write_file
  - name: fetch_docs
    description: Fetch documentation
    category: web
    permission: network
    side_effects: [read_only, network_access]
    parameters: {{url: {{type: string, required: true}}}}
    handler: {HERE}:fetch_docs
  - name: json_query
    description: Query JSON
    category: data
    side_effects: [read_only]
    parameters: {{query: {{type: string, required: true}}}}
    handler: {HERE}:json_query
  - name: web_fetch
    description: Fetch a page
    category: web
    side_effects: [read_only, network_access]
    parameters: {{url: {{type: string, required: true}}}}
    handler: {HERE}:fetch_docs
"""


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the program runs, with its registry."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "orchestration").mkdir()
    (tmp_path / "orchestration" / "tool_registry.yaml").write_text(REGISTRY)
    return tmp_path


@pytest.fixture
def registry() -> Iterator[ToolRegistry]:
    with Callgate.open_sync("memory://") as gate:
        registry = ToolRegistry(gate)
        assert registry.load_from_yaml("orchestration/tool_registry.yaml") == 6
        yield registry


def test_the_basic_invocation_example():
    """Stands for the example of invocation: load the registry, ask whether the role may, invoke."""
    with ToolRegistry() as registry:
        registry.load_from_yaml("orchestration/tool_registry.yaml")
        assert not registry.can_use_tool("frontdoor", "fetch_docs")
        registry.set_permissions("frontdoor", ToolPermissions(web_access=True, allowed_categories=(ToolCategory.WEB,)))
        result = None
        if registry.can_use_tool("frontdoor", "fetch_docs"):
            result = registry.invoke("fetch_docs", role="frontdoor", url="https://example.com")
        assert result is not None
        assert (result.ok, result.output) == (True, "the page at https://example.com")
        assert told(registry.gate) == ran("fetch_docs")


def test_side_effects_are_six_words():
    """Stands for the SideEffect enum."""
    assert {each.name: each.value for each in SideEffect} == {
        "LOCAL_EXEC": "local_exec",
        "CALLS_LLM": "calls_llm",
        "MODIFIES_FILES": "modifies_files",
        "NETWORK_ACCESS": "network_access",
        "SYSTEM_STATE": "system_state",
        "READ_ONLY": "read_only",
    }


def test_side_effects_are_declared_in_yaml_and_listed_where_there_are_any(registry: ToolRegistry, tmp_path: Path):
    """Stands for the YAML declaration and for list_tools, which has side effects only where they are."""
    bare = tmp_path / "bare.yaml"
    bare.write_text(
        f"tools:\n  - {{name: bare, description: Bare, permission: compute, handler: '{HERE}:fetch_docs', parameters: "
        "{url: string}}\n"
    )
    registry.load_from_yaml(bare)
    registry.add_role_policy("worker", PolicyLayer("worker"))
    listed = {entry["name"]: entry for entry in registry.list_tools("worker")}
    assert listed["run_shell"]["side_effects"] == ["local_exec", "modifies_files", "system_state"]
    assert (listed["run_shell"]["destructive"], listed["run_shell"]["category"]) == (True, "code")
    assert "destructive" not in listed["read_file"]
    assert "side_effects" not in listed["bare"]


def test_what_is_destructive_is_not_run_but_asked_for(registry: ToolRegistry):
    """Stands for the pending status: ok, nothing run, its side effects declared; and a person's no is a no."""
    registry.add_role_policy("worker", PolicyLayer("worker"))
    output = registry.invoke("run_shell", role="worker", command="ls")
    assert isinstance(output, ToolOutput)
    assert (output.ok, output.status, output.requires_approval, output.output) == (True, "pending_approval", True, None)
    assert output.side_effects_declared == ["local_exec", "modifies_files", "system_state"]
    assert output.to_human() == "[PENDING APPROVAL] Side effects: local_exec, modifies_files, system_state"
    assert told(registry.gate) == [("gate.required", "run_shell")]
    [question] = registry.gate.approvals()
    assert question.id == output.metadata["approval_id"]
    registry.gate.reject(question.id, by="operator", why="not today")
    again = registry.invoke("run_shell", role="worker", command="ls")
    assert (again.status, again.output) == ("error", "operator rejected this call: not today")


def test_results_and_errors_have_one_envelope(registry: ToolRegistry):
    """Stands for ToolOutput: success, an error of the tool, bad arguments and a refusal, in both output modes."""
    registry.add_role_policy("worker", PolicyLayer("worker", deny=frozenset({"web_fetch"})))
    good = registry.invoke("fetch_docs", role="worker", url="https://example.com")
    assert (good.protocol_version, good.ok, good.status) == (1, True, "success")
    assert good.to_human() == "the page at https://example.com"
    troubles = [
        registry.invoke("json_query", role="worker", query="users[*"),
        registry.invoke("fetch_docs", role="worker", link="https://example.com"),
        registry.invoke("web_fetch", role="worker", url="https://example.com"),
        registry.invoke("nowhere", role="worker"),
    ]
    for output in troubles:
        assert (output.ok, output.status, output.requires_approval) == (False, "error", False)
        assert output.to_human() == f"[ERROR] {output.output}"
    keys = {"protocol_version", "ok", "status", "output", "side_effects_declared", "requires_approval", "metadata"}
    assert all(output.to_machine().keys() == keys for output in (good, *troubles))
    assert [event for event, _ in told(registry.gate)] == [
        *("tool_call.attempted", "tool_call.succeeded"),
        *("tool_call.attempted", "tool_call.failed"),
        *("tool_call.refused",) * 3,
    ]


def test_chainable_is_who_says_so_and_every_call_says_who_made_it(registry: ToolRegistry):
    """Stands for allowed_callers, get_chainable_tools and the three fields of the invocation record."""
    assert set(registry.get_chainable_tools()) == {"read_file", "write_file", "fetch_docs", "json_query", "web_fetch"}
    registry.add_role_policy("worker", PolicyLayer("worker"))
    direct = registry.invoke("fetch_docs", role="worker", url="https://example.com")
    link = {"caller": "chain", "chain_id": "chain-1", "chain_index": 2}
    chained = registry.invoke("write_file", "worker", link, path="a.txt", content="A")
    records = [registry.gate.invocation(output.metadata["call_id"]) for output in (direct, chained)]
    assert [(each["caller_type"], each["chain_id"], each["chain_index"]) for each in records] == [
        ("direct", None, 0),
        ("chain", "chain-1", 2),
    ]
    assert (records[0]["tool"], records[0]["args"]) == ("fetch_docs", {"url": "https://example.com"})
    assert [each["success"] for each in records] == [True, True]
    assert Path("a.txt").read_text() == "A"
    refused = registry.invoke("run_shell", "worker", link, command="ls")
    assert (refused.status, registry.gate.invocation(refused.metadata["call_id"])["success"]) == ("error", False)


def test_the_context_narrows_what_a_role_may_use(registry: ToolRegistry):
    """Stands for the two calls of can_use_tool with a context."""
    for role in ("worker", "frontdoor"):
        registry.add_role_policy(role, PolicyLayer(role))
    assert registry.can_use_tool("worker", "write_file")
    assert registry.can_use_tool("worker", "write_file", context={"read_only": True}) is False
    assert registry.can_use_tool("worker", "read_file", context={"read_only": True})
    assert registry.can_use_tool("frontdoor", "web_fetch")
    assert registry.can_use_tool("frontdoor", "web_fetch", context={"no_web": True}) is False
    refused = registry.invoke("write_file", "worker", {"read_only": True}, path="a.txt", content="A")
    assert not refused.ok
    assert not Path("a.txt").exists()
    assert told(registry.gate) == [("tool_call.refused", "write_file")]


def test_each_layer_comes_from_its_own_place_and_only_narrows(registry: ToolRegistry):
    """Stands for the table of layer sources: global, role, task, delegation."""
    registry.add_role_policy("architect", PolicyLayer("architect"))
    registry.add_role_policy("worker", PolicyLayer("worker", allow=frozenset({"group:read"})))
    assert not registry.can_use_tool("worker", "write_file")
    assert registry.can_use_tool("worker", "read_file")
    delegated = {"layers": [PolicyLayer("delegation", allow=frozenset({"read_file", "write_file"}))]}
    assert registry.can_use_tool("worker", "read_file", context=delegated)
    assert not registry.can_use_tool("worker", "fetch_docs", context=delegated)
    assert not registry.can_use_tool("worker", "write_file", context=delegated)
    web = {"layers": [PolicyLayer("delegation", allow=frozenset({"group:web"}))]}
    assert registry.can_use_tool("worker", "fetch_docs", context=web)
    assert not registry.can_use_tool("worker", "read_file", context=web)
    registry.add_global_policy(PolicyLayer("global", deny=frozenset({"run_shell"})))
    for role in ("architect", "worker"):
        assert not registry.can_use_tool(role, "run_shell")
    assert not registry.invoke("fetch_docs", "worker", delegated, url="a").ok
    assert told(registry.gate) == [("tool_call.refused", "fetch_docs")]


GROUPS = {
    "all": {"run_shell", "read_file", "write_file", "fetch_docs", "json_query", "web_fetch"},
    "read": {"read_file", "fetch_docs", "json_query", "web_fetch"},
    "write": {"run_shell", "write_file"},
    "code": {"run_shell", "read_file", "write_file"},
    "data": {"read_file", "json_query"},
    "web": {"fetch_docs", "web_fetch"},
    "math": set[str](),
    "typo": set[str](),
}


@pytest.mark.parametrize("group", GROUPS)
def test_a_role_has_the_tools_of_its_group(registry: ToolRegistry, group: str):
    """Stands for TOOL_GROUPS: what each group has is worked out from what the tools declare."""
    registry.add_role_policy("worker", PolicyLayer("worker", allow=frozenset({f"group:{group}"})))
    assert {entry["name"] for entry in registry.list_tools("worker")} == GROUPS[group]


async def test_a_category_counts_only_for_what_was_loaded_here(place: Path):
    """Stands for the groups where other tools are at the same gate: a stranger's word for its category is none."""
    source = YamlRegistry(write(place / "strange.yaml", "stranger"), accept=True)
    async with memory_gate() as gate:
        registry = ToolRegistry(gate)
        await gate.attach(source)
        registry.load_from_yaml(write(place / "mine.yaml", "mine"))
        registry.add_role_policy("worker", PolicyLayer("worker", allow=frozenset({"group:web", "category:web"})))
        registry.set_permissions("flat", ToolPermissions(web_access=True, allowed_categories=("web",)))
        assert registry.can_use_tool("worker", "mine")
        assert registry.can_use_tool("flat", "mine")
        assert not registry.can_use_tool("worker", "stranger")
        assert not registry.can_use_tool("flat", "stranger")
        assert not (await registry.invoke("stranger", role="worker", url="https://example.com")).ok
        assert (await registry.invoke("mine", role="worker", url="https://example.com")).ok
        assert await story(gate) == [("tool_call.refused", "stranger"), *ran("mine")]


def write(path: Path, name: str) -> Path:
    entry = "category: web, side_effects: [read_only, network_access], parameters: {url: string}"
    path.write_text(f"tools: {{{name}: {{description: Fetch, {entry}, handler: '{HERE}:fetch_docs'}}}}")
    return path


def test_a_policy_chain_narrows_and_cannot_be_changed(registry: ToolRegistry):
    """Stands for PolicyLayer, resolve_policy_chain and permissions_to_policy."""
    tools = {each.name: each for each in registry.gate.tools()}

    def left(*layers: PolicyLayer) -> set[str]:
        return set(resolve_policy_chain(layers, tools))

    assert left(PolicyLayer("open", allow=frozenset({"group:all"}))) == tools.keys()
    reading = PolicyLayer("role", allow=frozenset({"group:read"}))
    assert left(reading, PolicyLayer("task", deny=frozenset({"group:web"}))) == {"read_file", "json_query"}
    assert left(reading, PolicyLayer("more", allow=frozenset({"group:all"}))) == GROUPS["read"]
    with pytest.raises(FrozenInstanceError):
        reading.deny = frozenset()  # pyright: ignore[reportAttributeAccessIssue]
    flat = ToolPermissions(allowed_tools=("read_file", "write_file"), forbidden_tools=("write_file",))
    assert left(permissions_to_policy("worker", flat, tools)) == {"read_file"}


def test_flat_permissions_refuse_first_and_then_admit(registry: ToolRegistry):
    """Stands for ToolPermissions and the order of can_use_tool: forbidden, allowed, category with web access."""
    registry.set_permissions(
        "worker",
        ToolPermissions(
            web_access=False,
            allowed_categories=(ToolCategory.SYSTEM, ToolCategory.WEB),
            allowed_tools=("json_query",),
            forbidden_tools=("write_file",),
        ),
    )
    may = {each.name for each in registry.gate.tools() if registry.can_use_tool("worker", each.name)}
    assert may == {"read_file", "json_query"}
    assert not registry.invoke("write_file", role="worker", path="a", content="b").ok
    assert told(registry.gate) == [("tool_call.refused", "write_file")]


async def test_permission_types_are_scopes_of_the_configuration(place: Path, caplog: pytest.LogCaptureFixture):
    """Stands for the permission types: what requires approval asks, and paths lie where they may, links followed."""
    settings = "scopes: {fs: {paths: [notes], requires_approval: true}, shell: {requires_approval: true}}"
    notes = place / "notes"
    notes.mkdir()
    (place / "secret.txt").write_text("secret")
    (notes / "link.txt").symlink_to(place / "secret.txt")
    (notes / "a.txt").write_text("A")
    async with memory_gate(config=parse_settings(settings, file="x"), answers=["approve"]) as gate:
        registry = ToolRegistry(gate)
        with caplog.at_level(logging.WARNING, logger="callgate"):
            registry.load_from_yaml("orchestration/tool_registry.yaml")
        assert "permissions.filesystem" in caplog.text
        assert "under scopes.fs" in caplog.text
        assert "permissions.network" not in caplog.text
        registry.add_role_policy("worker", PolicyLayer("worker"))
        for path in ("secret.txt", "notes/../secret.txt", "notes/link.txt", str(place / "secret.txt")):
            refused = await registry.invoke("read_file", role="worker", path=path)
            assert (refused.status, refused.metadata["error"]["code"]) == ("error", "policy_denied")
        assert (await registry.invoke("read_file", role="worker", path="notes/a.txt")).output == "A"
        assert await story(gate) == [
            *[("tool_call.refused", "read_file")] * 4,
            ("gate.required", "read_file"),
            *ran("read_file"),
        ]


MANIFEST: dict[str, Any] = {
    "schema_version": "1.0",
    "name": "canvas_tools",
    "version": "1.0.0",
    "description": "Canvas tools for reasoning visualization",
    "enabled": True,
    "dependencies": [],
    "settings_schema": {"canvas_directory": {"type": "string", "default": "logs/canvases"}},
    "tools": [
        {
            "name": "export_reasoning_canvas",
            "description": "Export hypothesis/failure graphs to JSON Canvas",
            "module": "src.tools.canvas_tools",
            "function": "export_reasoning_canvas",
            "category": "data",
            "effects": ["read_only"],
            "parameters": {"graph_type": {"type": "string", "required": False}},
        }
    ],
}
CODE = """
from callgate import PluginSettings


def export_reasoning_canvas(graph_type: str = "all", *, settings: PluginSettings) -> str:
    return f"{graph_type} to {settings['canvas_directory']}"
"""


@pytest.fixture
def plugin(place: Path) -> Path:
    folder = place / "src" / "tools" / "canvas_tools"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text(CODE)
    (folder / "manifest.json").write_text(json.dumps(MANIFEST))
    return folder


@pytest.mark.usefixtures("plugin")
async def test_plugins_are_discovered_listed_and_called_through_a_gate():
    """Stands for the manifest and for the discovery example; its module counts from where the program runs."""
    loader = ToolPluginLoader()
    count = loader.discover_plugins(Path("src/tools"))
    assert count == 1
    [listed] = loader.list_tools(enabled_only=True)
    assert (listed["name"], listed["plugin"]) == ("export_reasoning_canvas", "canvas_tools")
    async with memory_gate() as gate:
        report = await gate.attach(loader.as_source(accept=["canvas_tools"]))
        assert report.ok, report.failures
        outcome = await gate.call("export_reasoning_canvas", {"graph_type": "failures"}, Context())
        assert outcome.unwrap() == "failures to logs/canvases"
        assert await story(gate) == ran("export_reasoning_canvas")


def test_a_package_that_is_missing_keeps_a_plugin_off(plugin: Path):
    """Stands for the manifest's dependencies."""
    (plugin / "manifest.json").write_text(json.dumps({**MANIFEST, "dependencies": ["no-such-package-anywhere"]}))
    loader = ToolPluginLoader()
    assert loader.discover_plugins(Path("src/tools")) == 1
    assert loader.list_tools(enabled_only=True) == []
    [state] = loader.list_plugins()
    assert "no-such-package-anywhere" in str(state.fault)


async def test_changed_plugins_are_found_and_loaded_again(plugin: Path):
    """Stands for the hot reload example: what changed, and how many were loaded."""
    loader = ToolPluginLoader()
    loader.discover_plugins(Path("src/tools"))
    assert (loader.check_for_changes(), loader.reload_changed()) == ([], 0)
    (plugin / "__init__.py").write_text(CODE.replace(" to ", " into "))
    changed = loader.check_for_changes()
    assert changed == ["canvas_tools"]
    count = loader.reload_changed()
    assert count == 1
    async with memory_gate() as gate:
        await gate.attach(loader.as_source(accept=["canvas_tools"]))
        assert (await gate.call("export_reasoning_canvas", {})).unwrap() == "all into logs/canvases"
        assert await story(gate) == ran("export_reasoning_canvas")


@pytest.mark.usefixtures("plugin")
async def test_settings_override_tools_and_configuration(place: Path):
    """Stands for the file of per-tool settings: enabled, tool_overrides, custom_config."""
    folder = place / "src" / "tool_settings"
    folder.mkdir()
    saved: dict[str, Any] = {"enabled": True, "custom_config": {"canvas_directory": "/custom/path"}}
    (folder / "canvas_tools.json").write_text(json.dumps(saved))
    loader = ToolPluginLoader(settings_dir=folder)
    loader.discover_plugins(Path("src/tools"))
    async with memory_gate() as gate:
        await gate.attach(loader.as_source(accept=["canvas_tools"]))
        assert (await gate.call("export_reasoning_canvas", {})).unwrap() == "all to /custom/path"
        loader.update_settings("canvas_tools", tool_overrides={"export_reasoning_canvas": {"enabled": False}})
        assert loader.list_tools(enabled_only=True) == []
        assert not (await gate.call("export_reasoning_canvas", {})).ok
        assert await story(gate) == [
            *ran("export_reasoning_canvas"),
            ("tool_call.refused", "export_reasoning_canvas"),
        ]
