"""Toolkits, registry files and packages, attached to a gate and called through it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from callgate import Context, Refused, SchemaFile, Toolkit, ToolkitSource, YamlRegistry, tool
from callgate.adapters.toolkits import toolkit as known
from callgate.model.levels import Autonomy
from callgate.settings.values import Settings
from tests.journeys.gates import gate_of

pytestmark = pytest.mark.usefixtures("on_each_store")

FREE = Settings(autonomy=Autonomy.A4)
REGISTRY = """
tools:
  mine:
    description: Echo
    side_effects: [read_only]
    parameters: {text: string}
    handler: tests.adapters.registry_handlers:anything
  broken:
    description: Its code is gone
    side_effects: [read_only]
    handler: tests.adapters.registry_handlers:gone
"""


class NotesToolkit(Toolkit):
    """Notes in memory."""

    def __init__(self) -> None:
        super().__init__()
        self.notes = ["a b", "b c"]
        self.closed = 0

    @tool(effects="read_only")
    async def search_notes(self, word: str) -> list[str]:
        """Find notes with a word."""
        return [note for note in self.notes if word in note]

    def close(self) -> None:
        self.closed += 1

    def burn(self) -> str:
        """Declares nothing."""
        raise AssertionError


@pytest.mark.requirement("ADP-02")
async def test_a_toolkit_is_added_or_attached_and_its_tools_pass_the_gate():
    async with gate_of(NotesToolkit, config=FREE) as gate:
        assert (await gate.call("search_notes", {"word": "a"})).unwrap() == ["a b"]
        refused = await gate.call("burn")
        assert isinstance(refused, Refused)
        assert "declares no effects" in refused.to_human()
        assert gate.pool().names == ("search_notes",)
    kit = NotesToolkit()
    async with gate_of(config=FREE) as gate:
        report = await gate.attach(ToolkitSource(kit, prefix="my", include="search_*"))
        assert (report.ok, report.tools) == (True, ("my.search_notes",))
        kit.notes.append("d")
        assert (await gate.call("my.search_notes", {"word": "d"})).unwrap() == ["d"]
        await gate.reload("notes")
        assert kit.closed == 0
    assert kit.closed == 1


async def test_a_module_of_the_configuration_brings_its_toolkits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(known, "_registered", {})
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "kit_of_a_module.py").write_text(
        "from callgate import Toolkit, register_toolkit, tool\n"
        "@register_toolkit('birds')\n"
        "class Birds(Toolkit):\n"
        "    @tool(effects='read_only')\n"
        "    def sing(self) -> str:\n"
        "        return 'la'\n"
    )
    settings = Settings(modules=("kit_of_a_module.py",))
    async with gate_of(config=settings, working_directory=tmp_path) as gate:
        assert (await gate.call("sing")).unwrap() == "la"
        [sing] = gate.tools(tags=["toolkit:birds"])
        assert sing.source_name == "birds"
    del sys.modules["kit_of_a_module"]


@pytest.mark.requirement("ADP-08")
async def test_a_toolkit_that_cannot_be_made_is_in_the_report_and_the_others_serve():
    class Broken(Toolkit):
        def __init__(self) -> None:
            raise OSError("no such host")

    async with gate_of(config=FREE) as gate:
        report = await gate.attach(ToolkitSource(Broken, NotesToolkit))
        assert [(failure.name, "no such host" in failure.reason) for failure in report.failures] == [("broken", True)]
        assert "search_notes" in report.tools
        assert (await gate.call("search_notes", {"word": "a"})).ok


async def test_the_tools_of_a_yaml_file_wait_for_the_operator_s_word(tmp_path: Path):
    path = tmp_path / "tools.yaml"
    path.write_text(REGISTRY)
    async with gate_of(config=FREE) as gate:
        await gate.attach(YamlRegistry(path))
        assert gate.pool().names == ()
        refused = await gate.call("mine", {"text": "a"})
        assert refused.error is not None
        assert refused.error.code == "policy_denied"
        assert gate.tool("mine").claims["effects"] == ["read_only"]
        said = {"mine": {"effects": "read_only"}}
        await gate.attach(YamlRegistry(path, name="declared", prefix="own", declarations=said))
        assert gate.pool().names == ("own.mine",)
        assert (await gate.call("own.mine", {"text": "a"})).unwrap() == {"text": "a"}


@pytest.mark.requirement("REG-14")
async def test_a_yaml_tool_without_its_handler_is_a_configuration_error_to_call(tmp_path: Path):
    path = tmp_path / "tools.yaml"
    path.write_text(REGISTRY)
    async with gate_of(config=FREE) as gate:
        await gate.attach(YamlRegistry(path, accept=True))
        outcome = await gate.call("broken")
        assert (outcome.ok, outcome.status) == (False, "refused")
        assert outcome.error is not None
        assert (outcome.error.code, outcome.error.category.value) == ("tool_unavailable", "configuration_error")
        assert not outcome.error.retryable
        assert "gone" in outcome.error.message
        assert gate.pool().names == ("mine",)


@pytest.mark.requirement("REG-11")
async def test_a_yaml_file_that_comes_later_is_there_after_loading_again(tmp_path: Path):
    path = tmp_path / "tools.yaml"
    async with gate_of(config=FREE) as gate:
        report = await gate.attach(YamlRegistry(path, accept=True))
        assert (report.tools, report.ok) == ((), False)
        path.write_text(REGISTRY)
        assert (await gate.reload("tools")).tools == ("mine", "broken")
        path.write_text("tools: [")
        report = await gate.reload("tools")
        assert (report.stale, report.tools) == (True, ("mine", "broken"))
        assert (await gate.call("mine", {"text": "a"})).ok


@pytest.mark.requirement("SCH-05")
async def test_each_agent_scope_is_a_source_of_its_own(tmp_path: Path):
    @tool(effects="read_only")
    async def vault_read(path: str) -> str:
        """Read a note."""
        return path.rpartition("/")[2]

    parameters = {"type": "object", "properties": {"path": {"type": "string", "format": "text"}}, "required": ["path"]}
    items = [
        {
            "type": "function",
            "function": {"name": name, "description": name, "parameters": parameters},
            "agent_scope": scope,
        }
        for name, scope in (("vault_read", ["oracle", "librarian"]), ("vault_move", ["librarian"]))
    ]
    path = tmp_path / "tools.json"
    path.write_text(json.dumps(items))
    async with gate_of(config=FREE) as gate:
        report = await gate.attach(SchemaFile(path, handlers={"vault_read": vault_read}, scope="oracle"))
        assert report.tools == ("vault_read",)
        assert (await gate.call("vault_read", {"path": "a/b"}, Context())).unwrap() == "b"
        await gate.detach("tools")
        report = await gate.attach(SchemaFile(path, handlers={"vault_read": vault_read}, scope="librarian"))
        assert report.tools == ("vault_read", "vault_move")
        assert "no handler was given" in (await gate.call("vault_move", {"path": "a"})).to_human()


async def test_the_files_that_say_which_tools_there_are_are_out_of_reach_of_tools(tmp_path: Path):
    path = tmp_path / "tools.yaml"
    path.write_text(REGISTRY)

    @tool(effects="modifies_files", scopes=["fs:write"], risk="low")
    async def write_file(path: str) -> str:
        """Write a file."""
        return path

    async with gate_of(write_file, config=FREE, working_directory=tmp_path) as gate:
        assert (await gate.call("write_file", {"path": "tools.yaml"})).ok
        await gate.attach(YamlRegistry(path, accept=True))
        await gate.attach(SchemaFile(tmp_path / "absent.json", write_json(tmp_path / "tools.json"), name="schemas"))
        for name in ("tools.yaml", "TOOLS.yaml", "./tools.json", "absent.json"):
            refused = await gate.call("write_file", {"path": name})
            assert isinstance(refused, Refused), name
        assert (await gate.call("write_file", {"path": "other.yaml"})).ok
        gate.protect(tmp_path / "treasure")
        assert not (await gate.call("write_file", {"path": "treasure/chest"})).ok


def write_json(path: Path) -> Path:
    path.write_text("[]")
    return path
