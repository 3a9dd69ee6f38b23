"""reload_plugins: what is in the folders of plugins now is loaded, as a call that people are asked about."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from callgate import Callgate, Context, PluginFolder
from callgate.adapters.plugins.saved import Saved, SavedSettings
from callgate.model.levels import Autonomy, Category, Effect, Risk
from callgate.settings.values import BuiltinToolsSettings
from callgate.tools.catalogue import make_builtin
from tests.plugin_folders import GREET, tool_entry, write_plugin
from tests.tools.examples import run_examples

FREE = Context(autonomy=Autonomy.A4)
FELL = "\nfrom pathlib import Path\nPath({witness!r}).write_text('loaded')\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "plugins"


@asynccontextmanager
async def gate_with(folder: Path) -> AsyncGenerator[Callgate]:
    async with Callgate.open("memory://", builtin_tools=["plugins"], working_directory=folder.parent) as gate:
        await gate.attach(PluginFolder(folder, settings=folder.parent / "settings", accept=["hello", "other"]))
        yield gate


async def trust_all(gate: Callgate) -> None:
    for held in gate.quarantined():
        await gate.trust(held.name, by="ann", definition_hash=held.definition_hash)


async def test_the_gate_counts_the_plugins_that_serve_after_loading_them_again(folder: Path) -> None:
    write_plugin(folder)
    async with gate_with(folder) as gate:
        assert await gate.reload_plugins() == 1
        write_plugin(folder, "other", tools=[tool_entry("other")])
        write_plugin(folder, code=GREET.replace("Hello", "Good day"), version="2.0.0")
        assert await gate.reload_plugins() == 2
        await trust_all(gate)
        assert (await gate.call("greet", {"name": "you"})).unwrap() == "Good day, you!"
        assert (await gate.call("other", {"name": "you"})).unwrap() == "Hello, you!"
        # One that is broken now goes on as it was, and counts; one that is switched off or gone does not.
        write_plugin(folder, code="raise RuntimeError", version="3.0.0")
        assert await gate.reload_plugins() == 2
        assert (await gate.call("greet", {"name": "you"})).unwrap() == "Good day, you!"
        SavedSettings(folder.parent / "settings").update("other", Saved(enabled=False))
        assert await gate.reload_plugins() == 1
        (folder / "hello" / "manifest.json").unlink()
        assert await gate.reload_plugins() == 0


async def test_a_gate_without_plugins_has_none_to_load() -> None:
    async with Callgate.open("memory://") as gate:
        assert await gate.reload_plugins() == 0


async def test_the_tool_loads_what_is_in_the_folders_now(folder: Path) -> None:
    write_plugin(folder)
    async with gate_with(folder) as gate:
        write_plugin(folder, "other", tools=[tool_entry("other")])
        assert (await gate.call("reload_plugins", {}, FREE)).unwrap() == 2
        # Loading is not trusting: what is new in it waits until a person has looked.
        assert "quarantined" in str(await gate.call("other", {"name": "you"}))
        await trust_all(gate)
        assert (await gate.call("other", {"name": "you"})).unwrap() == "Hello, you!"


async def test_no_code_is_loaded_before_a_person_agreed(folder: Path) -> None:
    witness = folder.parent / "witness"
    write_plugin(folder)
    async with gate_with(folder) as gate:
        write_plugin(folder, code=GREET + FELL.format(witness=str(witness)), version="2.0.0")
        pending = await gate.call("reload_plugins", {}, Context(autonomy=Autonomy.A3))
        assert pending.status == "pending"
        previewed = await gate.call("reload_plugins", {}, Context(autonomy=Autonomy.A0))
        assert previewed.status == "previewed"
        assert "the code of every plugin" in str(previewed)
        assert not witness.exists()
        approval = getattr(pending, "approval_id", "")
        await gate.approve(approval, by="ann")
        assert (await gate.resume(approval)).unwrap() == 1
        assert witness.read_text() == "loaded"


async def test_it_says_that_it_runs_code_and_no_flow_calls_it() -> None:
    async with Callgate.open("memory://", builtin_tools=["plugins"]) as gate:
        [tool] = gate.tools()
        assert Effect.LOCAL_EXEC in tool.effects
        assert tool.base_risk >= Risk.HIGH
        assert tool.input_schema.get("properties", {}) == {}
        chained = Context(autonomy=Autonomy.A4, caller="chain")  # pyright: ignore[reportArgumentType]
        assert not (await gate.call("reload_plugins", {}, chained)).ok
        await run_examples(gate, "reload_plugins")


async def test_without_a_gate_it_says_what_it_needs() -> None:
    gate = Callgate.open("memory://")
    gate.add(*make_builtin(["plugins"], BuiltinToolsSettings()))
    async with gate:
        outcome = await gate.call("reload_plugins", {}, FREE)
    assert outcome.error is not None
    assert outcome.error.category is Category.CONFIGURATION
