"""ToolPluginLoader: the words of the former loader, over folders that a gate attaches."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from callgate.compat import ToolPluginLoader
from callgate.testing import memory_gate
from tests.plugin_folders import manifest_of, tool_entry, write_plugin


@pytest.fixture
def loader(tmp_path: Path) -> ToolPluginLoader:
    return ToolPluginLoader(settings_dir=tmp_path / "settings")


@pytest.mark.requirement("PLG-03")
def test_discovering_counts_what_is_loaded_disabled_ones_included(loader: ToolPluginLoader, tmp_path: Path):
    folder = tmp_path / "plugins"
    assert loader.discover_plugins(folder) == 0
    write_plugin(folder, "one")
    write_plugin(folder, "two", enabled=False, tools=[tool_entry("other")])
    (write_plugin(folder, "bad") / "manifest.json").write_text("{}")
    (folder / "empty").mkdir()
    assert loader.discover_plugins(folder) == 2


@pytest.mark.requirement("PLG-04")
def test_a_listing_has_what_is_on_or_everything(loader: ToolPluginLoader, tmp_path: Path):
    write_plugin(tmp_path / "plugins", "one", tools=[tool_entry(), tool_entry("quiet", enabled=False)])
    write_plugin(tmp_path / "plugins", "two", enabled=False, tools=[tool_entry("other")])
    loader.discover_plugins(tmp_path / "plugins")
    assert [tool["name"] for tool in loader.list_tools()] == ["greet"]
    assert [(tool["name"], tool["plugin"], tool["enabled"]) for tool in loader.list_tools(enabled_only=False)] == [
        ("greet", "one", True),
        ("quiet", "one", False),
        ("other", "two", False),
    ]


@pytest.mark.requirement("PLG-02")
def test_a_manifest_is_read_or_told_to_be_missing_or_wrong(loader: ToolPluginLoader, tmp_path: Path):
    with pytest.raises(FileNotFoundError):
        loader.parse_manifest(tmp_path / "manifest.json")
    file = tmp_path / "manifest.json"
    file.write_text("{}")
    with pytest.raises(ValueError, match=r"manifest\.json: name: is missing"):
        loader.parse_manifest(file)
    file.write_text(json.dumps(manifest_of()))
    assert loader.parse_manifest(file).version == "1.0.0"


@pytest.mark.requirement("PLG-01", "PLG-16")
def test_faults_are_listed_and_the_template_has_none(loader: ToolPluginLoader):
    assert loader.validate_manifest(manifest_of(tools=[tool_entry(), {}]))[0] == "tools[1].name: is missing"
    assert loader.validate_manifest(loader.create_manifest_template("mine")) == []


@pytest.mark.requirement("PLG-05", "PLG-06", "PLG-08", "PLG-09")
def test_what_changed_is_named_and_reloaded(loader: ToolPluginLoader, tmp_path: Path):
    folder = tmp_path / "plugins"
    path = write_plugin(folder)
    loader.discover_plugins(folder)
    assert (loader.check_for_changes(), loader.reload_changed()) == ([], 0)
    write_plugin(folder, version="2.0.0")
    assert loader.check_for_changes() == ["hello"]
    assert (loader.reload_changed(), loader.list_plugins()[0].version) == (1, "2.0.0")
    write_plugin(folder, "other", tools=[tool_entry("other")])
    (path / "manifest.json").write_text("{")
    assert sorted(loader.check_for_changes()) == ["hello", "other"]
    assert loader.reload_changed() == 1
    [hello, _] = loader.list_plugins()
    assert (hello.stale, hello.version, "manifest.json" in str(hello.fault)) == (True, "2.0.0", True)
    (path / "manifest.json").unlink()
    assert loader.reload_changed() == 1
    assert [tool["name"] for tool in loader.list_tools()] == ["other"]


@pytest.mark.requirement("PLG-10", "PLG-11", "PLG-12", "PLG-13")
def test_settings_are_merged_checked_and_in_force_at_once(loader: ToolPluginLoader, tmp_path: Path):
    write_plugin(tmp_path / "plugins", settings_schema={"word": {"type": "string", "default": "Hello"}})
    loader.discover_plugins(tmp_path / "plugins")
    nothing = {"enabled": True, "tool_overrides": {}, "custom_config": {"word": "Hello"}}
    assert loader.get_settings("hello") == nothing
    saved = loader.update_settings("hello", custom_config={"word": "Hi"}, tool_overrides={"greet": {"enabled": False}})
    assert saved == {"enabled": True, "tool_overrides": {"greet": {"enabled": False}}, "custom_config": {"word": "Hi"}}
    assert loader.list_tools() == []
    with pytest.raises(ValueError, match="does not fit the plugin's settings_schema"):
        loader.update_settings("hello", custom_config={"word": 3})
    with pytest.raises(ValueError, match="snake_case"):
        loader.update_settings("../x", enabled=False)
    assert loader.get_settings("hello") == saved
    assert loader.update_settings("hello", enabled=False)["enabled"] is False
    assert [state.enabled for state in loader.list_plugins()] == [False]
    (tmp_path / "settings" / "hello.json").write_text("{")
    with pytest.raises(ValueError, match="cannot be read"):
        loader.get_settings("hello")


async def test_calls_go_through_a_gate(loader: ToolPluginLoader, tmp_path: Path):
    write_plugin(tmp_path / "plugins")
    loader.discover_plugins(tmp_path / "plugins")
    async with memory_gate() as gate:
        await gate.attach(loader.as_source(accept=["hello"]))
        assert (await gate.call("greet", {"name": "you"})).unwrap() == "Hello, you!"
