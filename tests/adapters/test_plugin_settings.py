"""Settings of plugins: merged, checked, saved whole; what cannot be read switches the plugin off."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from callgate.adapters.plugins.saved import Saved, SavedSettings
from callgate.adapters.plugins.shelf import Choices, Shelf
from callgate.adapters.plugins.switch import Switch
from callgate.errors import ConfigurationError, StoreError
from callgate.model.plugin_settings import PluginSettings
from tests.plugin_folders import GREET, tool_entry, write_plugin

ASKS = (
    "from callgate import PluginSettings\n"
    "def greet(name: str, *, settings: PluginSettings) -> str:\n"
    "    return settings['word'] + name * settings.get('times', 1)\n"
)
SCHEMA = {"word": {"type": "string", "default": "Hello "}, "times": {"type": "integer", "minimum": 1}}


@pytest.fixture
def saved(tmp_path: Path) -> SavedSettings:
    return SavedSettings(tmp_path / "settings")


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf(Choices(folders=(tmp_path / "plugins",), settings=tmp_path / "settings"))


def run(shelf: Shelf, **arguments: Any) -> Any:
    [tool] = shelf.load().tools
    assert tool.handler is not None
    return tool.handler(tool.validator(arguments), None)


def reasons(shelf: Shelf) -> list[str]:
    loaded = shelf.load()
    assert loaded.tools == ()
    return [failure.reason for failure in loaded.failures]


@pytest.mark.requirement("PLG-11")
def test_without_a_file_nothing_is_set(saved: SavedSettings):
    assert saved.read("hello") == Saved(enabled=None, tool_overrides={}, custom_config={})


@pytest.mark.requirement("PLG-11")
def test_changes_are_merged_saved_and_read_back_equal(saved: SavedSettings):
    saved.update("hello", Saved(custom_config={"a": 1, "b": 2}, tool_overrides={"x": {"enabled": False}}))
    merged = saved.update(
        "hello", Saved(enabled=False, custom_config={"b": 3}, tool_overrides={"y": {"enabled": True}})
    )
    assert merged == Saved(
        enabled=False,
        tool_overrides={"x": {"enabled": False}, "y": {"enabled": True}},
        custom_config={"a": 1, "b": 3},
    )
    assert saved.read("hello") == merged
    assert json.loads(saved.file("hello").read_text()) == merged.to_json()


@pytest.mark.requirement("PLG-12")
@pytest.mark.parametrize("name", ["../x", "/etc/x", "..", "a/b", "", "x\0y", "hello.json"])
def test_no_name_leads_out_of_the_folder(saved: SavedSettings, name: str, tmp_path: Path):
    with pytest.raises(ConfigurationError, match="a plugin's name needs to be snake_case"):
        saved.update(name, Saved(enabled=False))
    with pytest.raises(ConfigurationError, match="a plugin's name needs to be snake_case"):
        saved.read(name)
    assert list(tmp_path.rglob("*")) == []


@pytest.mark.requirement("PLG-12")
@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b'{"enabled": "yes"}',
        b'{"enabled": true, "enabled": false}',
        b'{"enabeld": false}',
        b'{"tool_overrides": {"greet": false}}',
        b'{"tool_overrides": {"greet": {"enabled": 0}}}',
        b'{"tool_overrides": {"greet": {"enabeld": false}}}',
        b'{"custom_config": []}',
        b"\xff",
        b" " * (256 * 1024 + 1),
    ],
)
def test_a_file_that_cannot_be_read_switches_the_plugin_off(shelf: Shelf, tmp_path: Path, content: bytes):
    write_plugin(tmp_path / "plugins", code="raise RuntimeError")
    (tmp_path / "settings").mkdir()
    (tmp_path / "settings" / "hello.json").write_bytes(content)
    [reason] = reasons(shelf)
    assert reason.startswith(f"its settings: {tmp_path / 'settings' / 'hello.json'}: ")
    with pytest.raises(ConfigurationError):
        shelf.switch("hello", on=True)
    assert (tmp_path / "settings" / "hello.json").read_bytes() == content


@pytest.mark.requirement("PLG-12")
@pytest.mark.parametrize("what", ["link", "folder", "fifo"])
def test_what_is_no_file_switches_the_plugin_off(shelf: Shelf, tmp_path: Path, what: str):
    write_plugin(tmp_path / "plugins")
    place = tmp_path / "settings" / "hello.json"
    place.parent.mkdir()
    if what == "link":
        (tmp_path / "elsewhere.json").write_text("{}")
        place.symlink_to(tmp_path / "elsewhere.json")
    elif what == "folder":
        place.mkdir()
    else:
        os.mkfifo(place)
    [reason] = reasons(shelf)
    assert reason.startswith("its settings: ")


@pytest.mark.requirement("PLG-12")
def test_a_disk_that_is_full_leaves_what_was_saved(saved: SavedSettings, monkeypatch: pytest.MonkeyPatch):
    before = saved.update("hello", Saved(enabled=False))

    def full(*_args: Any, **_more: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StoreError, match="cannot be written: no space left on device"):
        saved.update("hello", Saved(enabled=True))
    monkeypatch.undo()
    assert saved.read("hello") == before
    assert sorted(path.name for path in saved.path.iterdir()) == ["hello.json", "hello.json.lock"]


@pytest.mark.requirement("PLG-12")
def test_where_nothing_can_be_saved_nothing_is_promised(tmp_path: Path):
    (tmp_path / "file").touch()
    saved = SavedSettings(tmp_path / "file")
    with pytest.raises(StoreError, match="cannot be written"):
        saved.update("hello", Saved(enabled=False))
    with pytest.raises(StoreError, match="cannot be written"):
        saved.ask_for_reload()
    with pytest.raises(ConfigurationError, match="cannot be read: not a directory"):
        saved.read("hello")
    assert Switch(saved, "hello").off("greet") is not None


@pytest.mark.requirement("PLG-12")
def test_settings_that_are_too_large_are_not_saved(saved: SavedSettings):
    with pytest.raises(ConfigurationError, match="would be larger than"):
        saved.update("hello", Saved(custom_config={"a": "x" * 300_000}))
    assert saved.read("hello") == Saved()


@pytest.mark.requirement("PLG-12")
def test_two_processes_that_save_at_once_lose_nothing_of_each_other(saved: SavedSettings):
    script = (
        "import sys; from pathlib import Path\n"
        "from callgate.adapters.plugins.saved import Saved, SavedSettings\n"
        "saved = SavedSettings(Path(sys.argv[1]))\n"
        "for n in range(20): saved.update('hello', Saved(custom_config={f'{sys.argv[2]}{n}': n}))\n"
    )
    running = [subprocess.Popen([sys.executable, "-c", script, str(saved.path), who]) for who in ("a", "b")]
    assert [process.wait(timeout=60) for process in running] == [0, 0]
    assert saved.read("hello").custom_config == {f"{who}{n}": n for who in ("a", "b") for n in range(20)}


@pytest.mark.requirement("PLG-13")
def test_settings_are_checked_and_their_defaults_fill_in(shelf: Shelf, tmp_path: Path):
    write_plugin(tmp_path / "plugins", code=ASKS, settings_schema=SCHEMA)
    assert run(shelf, name="you") == "Hello you"
    shelf.saved.update("hello", Saved(custom_config={"times": 2}))
    assert run(shelf, name="you") == "Hello youyou"
    shelf.saved.update("hello", Saved(custom_config={"times": 0}))
    [reason] = reasons(shelf)
    assert "custom_config does not fit the plugin's settings_schema" in reason
    shelf.saved.update("hello", Saved(custom_config={"times": 1, "wrod": "x"}))
    [reason] = reasons(shelf)
    assert "wrod" in reason


@pytest.mark.requirement("PLG-13")
def test_a_setting_that_is_needed_and_a_schema_that_is_none(shelf: Shelf, tmp_path: Path):
    write_plugin(tmp_path / "plugins", settings_schema={"word": {"type": "string", "required": True}})
    [reason] = reasons(shelf)
    assert "word" in reason
    write_plugin(tmp_path / "plugins", settings_schema={"word": {"type": "no such type"}})
    [reason] = reasons(shelf)
    assert reason.startswith("its settings: settings_schema: ")


def test_settings_are_no_business_of_a_model(shelf: Shelf, tmp_path: Path):
    write_plugin(tmp_path / "plugins", code=ASKS, settings_schema=SCHEMA, tools=[tool_entry()])
    [tool] = shelf.load().tools
    assert list(tool.input_schema["properties"]) == ["name"]
    write_plugin(tmp_path / "plugins", code=ASKS.replace("*, settings: PluginSettings", "settings: PluginSettings, /"))
    assert len(shelf.load().failures) == 1


def test_without_a_schema_what_is_set_is_handed_on(shelf: Shelf, tmp_path: Path):
    write_plugin(tmp_path / "plugins", code=ASKS)
    shelf.saved.update("hello", Saved(custom_config={"word": "Hi "}))
    assert run(shelf, name="you") == "Hi you"


@pytest.mark.requirement("PLG-10")
def test_a_switch_is_read_again_when_its_file_looks_different(saved: SavedSettings):
    switch = Switch(saved, "hello")
    assert switch.off("greet") is None
    saved.update("hello", Saved(tool_overrides={"greet": {"enabled": False}}))
    assert (switch.off("greet"), switch.off("other")) == ("greet is switched off", None)
    saved.update("hello", Saved(enabled=False))
    assert switch.off("other") == "the plugin hello is switched off"
    saved.file("hello").write_text("{")
    assert "cannot be read, so it is off" in str(switch.off("other"))
    saved.file("hello").unlink()
    assert switch.off("other") is None
    assert Switch(saved, "hello", by_manifest=False).off("other") == "the plugin hello is switched off"


@pytest.mark.requirement("PLG-10")
def test_what_an_operator_sets_stands_before_the_manifest(shelf: Shelf, tmp_path: Path):
    off = tool_entry("quiet", enabled=False)
    write_plugin(tmp_path / "plugins", enabled=False, tools=[tool_entry(), off], code=GREET)
    assert shelf.load().tools == ()
    shelf.switch("hello", on=True)
    assert [tool.name for tool in shelf.load().tools] == ["greet"]
    shelf.switch("hello", on=True, tool="quiet")
    shelf.switch("hello", on=False, tool="greet")
    assert [tool.name for tool in shelf.load().tools] == ["quiet"]
    write_plugin(tmp_path / "plugins", version="2.0.0", tools=[tool_entry(), off])
    assert [tool.name for tool in shelf.load().tools] == ["quiet"]


def test_settings_are_a_mapping_that_cannot_be_changed():
    settings = PluginSettings({"a": 1})
    assert (dict(settings), len(settings), repr(settings)) == ({"a": 1}, 1, "PluginSettings(a)")
    with pytest.raises(TypeError):
        settings["a"] = 2  # pyright: ignore[reportIndexIssue]
