"""Plugins in a gate: accepted or refused, switched off at once, loaded again while calls go on."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from callgate import Callgate, Context, PluginFolder, Refused, tool
from callgate.adapters.plugins.saved import Saved, SavedSettings
from callgate.errors import ConfigurationError
from callgate.model.levels import Autonomy
from callgate.settings.values import PluginsSettings, Settings
from tests.journeys.gates import gate_of
from tests.plugin_folders import GREET, tool_entry, write_plugin
from tests.waiting import until

pytestmark = pytest.mark.usefixtures("on_each_store")

FREE = Settings(autonomy=Autonomy.A4)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "plugins"


def settings_folder(folder: Path) -> Path:
    return folder.parent / "settings"


@asynccontextmanager
async def gate_with(folder: Path, *accept: str, reload: bool = False) -> AsyncGenerator[Callgate]:
    async with gate_of(config=FREE) as gate:
        await gate.attach(PluginFolder(folder, settings=settings_folder(folder), accept=accept, reload=reload))
        yield gate


async def said(gate: Callgate, tool_name: str = "greet", /, **arguments: Any) -> str:
    return (await gate.call(tool_name, arguments or {"name": "you"})).to_human()


async def test_a_plugin_that_was_accepted_is_called_like_any_tool(folder: Path) -> None:
    write_plugin(folder)
    async with gate_with(folder, "hello") as gate:
        assert await said(gate) == "Hello, you!"
        assert [each.name for each in gate.pool()] == ["greet"]
        [state] = gate.plugins()
        assert (state.name, state.enabled, state.accepted, state.fault) == ("hello", True, True, None)


async def test_a_plugin_that_nobody_accepted_is_refused_with_the_line_to_add(folder: Path) -> None:
    write_plugin(folder)
    async with gate_with(folder) as gate:
        outcome = await gate.call("greet", {"name": "you"})
        assert isinstance(outcome, Refused)
        assert "accept what its plugin declares: plugins: {accept: [hello]} in callgate.yaml" in outcome.to_human()
        assert list(gate.pool()) == []


async def test_a_declaration_that_a_person_accepted_counts_for_exactly_what_was_seen(
    folder: Path, tmp_path: Path
) -> None:
    write_plugin(folder, tools=[tool_entry("get_greeting")])
    async with gate_of(config=FREE, working_directory=tmp_path) as gate:
        await gate.attach(PluginFolder(folder, settings=settings_folder(folder)))
        await gate.accept(gate.proposals("plugins"), by="ann")
        assert await said(gate, "get_greeting") == "Hello, you!"
        await gate.disable_plugin("hello")
        assert not (await gate.call("get_greeting", {"name": "you"})).ok
        await gate.enable_plugin("hello")
        assert await said(gate, "get_greeting") == "Hello, you!"
        SavedSettings(settings_folder(folder)).update("hello", Saved(enabled=False))
        assert "the plugin hello is switched off" in await said(gate, "get_greeting")
        SavedSettings(settings_folder(folder)).update("hello", Saved(enabled=True))
        write_plugin(folder, tools=[tool_entry("get_greeting")], code=GREET + "# more")
        await gate.reload("plugins")
        assert "quarantined" in await said(gate, "get_greeting")


@pytest.mark.requirement("PLG-10")
async def test_what_is_switched_off_is_off_at_once_and_stays_off(folder: Path) -> None:
    write_plugin(folder, tools=[tool_entry(), tool_entry("other")])
    async with gate_with(folder, "hello") as gate:
        assert not (await gate.disable_plugin("hello", tool="greet")).tools[0].enabled
        assert "Unknown tool" in await said(gate)
        assert await said(gate, "other") == "Hello, you!"
        assert [each.name for each in gate.tools()] == ["other"]
        await gate.reload("plugins")
        assert "Unknown tool" in await said(gate)
        await gate.disable_plugin("hello")
        assert (gate.tools(), "Unknown tool" in await said(gate, "other")) == ((), True)
        write_plugin(folder, version="2.0.0")
        await gate.reload("plugins")
        assert gate.tools() == ()
        await gate.enable_plugin("hello", tool="greet")
        write_plugin(folder, tools=[tool_entry(), tool_entry("other")])
        state = await gate.enable_plugin("hello")
        assert (state.enabled, await said(gate)) == (True, "Hello, you!")
        with pytest.raises(ConfigurationError, match="there is no plugin 'nobody'; there are: hello"):
            await gate.disable_plugin("nobody")


@pytest.mark.requirement("PLG-10")
async def test_another_process_that_switches_a_plugin_off_stops_the_next_call_here(folder: Path) -> None:
    write_plugin(folder)
    async with gate_with(folder, "hello") as gate:
        assert await said(gate) == "Hello, you!"
        SavedSettings(settings_folder(folder)).update("hello", Saved(enabled=False))
        outcome = await gate.call("greet", {"name": "you"})
        assert isinstance(outcome, Refused)
        assert "the plugin hello is switched off" in outcome.to_human()
        SavedSettings(settings_folder(folder)).file("hello").write_text("{")
        assert "cannot be read, so it is off" in await said(gate)


async def test_the_check_of_a_tool_still_counts_behind_its_switch(folder: Path) -> None:
    head = "from callgate import tool\n"
    plain = (
        "def check(arguments, context):\n    if arguments['name'] == 'him':\n        raise PermissionError('not him')\n"
    )
    for word in ("", "async "):
        code = head + word + plain + "@tool(check=check)" + GREET
        name = "slow" if word else "quick"
        write_plugin(folder, name, code=code, tools=[tool_entry(f"greet_{name}")])
    async with gate_with(folder, "quick", "slow") as gate:
        for name in ("greet_quick", "greet_slow"):
            assert await said(gate, name, name="her") == "Hello, her!"
            assert "not him" in await said(gate, name, name="him")


WAITS = """
import asyncio, sys
async def greet(name: str) -> str:
    entered, release = sys.plugin_events
    entered.set()
    await release.wait()
    return "old"
"""


@pytest.mark.requirement("PLG-07")
async def test_new_code_runs_and_a_call_in_flight_finishes_on_the_old(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entered, release = asyncio.Event(), asyncio.Event()
    monkeypatch.setattr(sys, "plugin_events", (entered, release), raising=False)
    write_plugin(folder, code=WAITS)
    async with gate_with(folder, "hello", reload=True) as gate:
        running = asyncio.ensure_future(gate.call("greet", {"name": "you"}))
        await asyncio.wait_for(entered.wait(), 20)
        write_plugin(folder, version="2.0.0")
        await until(lambda: gate.plugins()[0].version == "2.0.0")
        assert await said(gate) == "Hello, you!"
        release.set()
        assert (await running).unwrap() == "old"


@pytest.mark.requirement("PLG-07")
async def test_no_call_is_lost_while_code_is_written_over_and_over(folder: Path) -> None:
    write_plugin(folder, code=GREET.replace("Hello", "v0"))
    heard: list[str] = []

    async def keep_calling(gate: Callgate, done: asyncio.Event) -> None:
        while not done.is_set():
            heard.append(await said(gate))

    async with gate_with(folder, "hello", reload=True) as gate:
        done = asyncio.Event()
        callers = [asyncio.ensure_future(keep_calling(gate, done)) for _ in range(3)]
        for number in range(1, 16):
            write_plugin(folder, code=GREET.replace("Hello", f"v{number}"))
            assert (await gate.reload("plugins")).ok
        done.set()
        await asyncio.gather(*callers)
        assert set(heard) <= {f"v{number}, you!" for number in range(16)}
        assert await said(gate) == "v15, you!"


@pytest.mark.requirement("PLG-06", "PLG-07", "PLG-08", "PLG-09")
@pytest.mark.slow
async def test_a_gate_that_watches_follows_what_happens_in_the_folder(folder: Path) -> None:
    path = write_plugin(folder)
    async with gate_with(folder, "hello", "new", reload=True) as gate:
        (path / "tools.py").write_text(GREET.replace("Hello", "Hallo"))
        await _until_said(gate, "Hallo, you!")
        (path / "manifest.json").write_text('{"name": "hello", ')
        await until(lambda: not gate.sources()[0].ok)
        [failure] = gate.sources()[0].failures
        assert failure.reason.endswith("version 1.0.0 goes on serving")
        assert await said(gate) == "Hallo, you!"
        write_plugin(folder, "new", tools=[tool_entry("other")])
        await until(lambda: any(each.name == "other" for each in gate.tools()))
        assert await said(gate, "other") == "Hello, you!"
        await gate.flush()
        assert [event.type async for event in gate.events(types=["tool.quarantined"])] == []
        (path / "manifest.json").unlink()
        await until(lambda: [each.name for each in gate.tools()] == ["other"])
        assert "Unknown tool" in await said(gate)
        SavedSettings(settings_folder(folder)).update("new", Saved(enabled=False))
        await until(lambda: gate.tools() == ())


async def _until_said(gate: Callgate, words: str) -> None:
    async with asyncio.timeout(20):
        while await said(gate) != words:  # noqa: ASYNC110 - nobody tells of it
            await asyncio.sleep(0.005)  # between two looks


async def test_what_becomes_looser_while_it_is_worked_on_waits_for_a_look(folder: Path) -> None:
    write_plugin(folder, tools=[tool_entry(effects=["modifies_files"], risk="low")])
    async with gate_with(folder, "hello", reload=True) as gate:
        assert await said(gate) == "Hello, you!"
        write_plugin(folder)
        await until(lambda: gate.sources()[0].quarantined)
        assert "quarantined" in await said(gate)
        strict = tool_entry(effects=["modifies_files"], risk="low")
        write_plugin(folder, tools=[strict], code=GREET.replace("Hello", "Hallo"))
        await until(lambda: not gate.sources()[0].quarantined)
        assert await said(gate) == "Hallo, you!"


async def test_without_development_every_change_waits_for_a_look(folder: Path) -> None:
    write_plugin(folder)
    async with gate_with(folder, "hello") as gate:
        write_plugin(folder, code=GREET.replace("Hello", "Hallo"))
        report = await gate.reload("plugins")
        assert [name for name, _ in report.quarantined] == ["greet"]
        assert "quarantined" in await said(gate)
        await gate.disable_plugin("hello")
        await gate.enable_plugin("hello")
        assert "quarantined" in await said(gate)


async def test_a_tool_that_came_by_itself_waits_and_one_that_was_switched_on_does_not(folder: Path) -> None:
    write_plugin(folder, tools=[tool_entry(), tool_entry("quiet", enabled=False)])
    async with gate_with(folder, "hello", "other") as gate:
        await gate.enable_plugin("hello", tool="quiet")
        assert await said(gate, "quiet") == "Hello, you!"
        write_plugin(folder, "other", tools=[tool_entry("stranger")])
        await gate.reload("plugins")
        assert "quarantined" in await said(gate, "stranger")
        await gate.enable_plugin("hello", tool="quiet")
        assert "quarantined" in await said(gate, "stranger")


async def test_no_plugin_takes_the_place_of_another_tool(folder: Path) -> None:
    @tool(effects="read_only")
    def greet(name: str) -> str:
        """The gate's own."""
        return f"mine, {name}"

    write_plugin(folder)
    async with gate_of(greet, config=FREE) as gate:
        report = await gate.attach(PluginFolder(folder, settings=settings_folder(folder), accept=["hello"]))
        assert [failure.name for failure in report.failures] == ["greet"]
        assert await said(gate) == "mine, you"


async def test_reloading_without_its_library_is_an_error_with_the_command(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "watchfiles", None)
    async with gate_of(config=FREE) as gate:
        with pytest.raises(ConfigurationError, match=r"pip install 'callgate\[reload\]'"):
            await gate.attach(PluginFolder(folder, reload=True))


@pytest.mark.slow
async def test_a_folder_that_comes_later_is_watched_too(folder: Path) -> None:
    async with gate_with(folder, "hello", reload=True) as gate:
        assert gate.tools() == ()
        write_plugin(folder)
        await until(gate.tools)
        write_plugin(folder, version="2.0.0")
        await until(lambda: gate.plugins()[0].version == "2.0.0")


async def test_plugins_of_the_configuration_are_there_when_the_gate_is_open(tmp_path: Path) -> None:
    write_plugin(tmp_path / "mine")
    (tmp_path / "conf").mkdir()
    file = tmp_path / "conf" / "callgate.yaml"
    file.write_text("plugins: {folders: [../mine], accept: [hello]}\n")
    async with gate_of(config=file) as gate:
        assert await said(gate) == "Hello, you!"
        await gate.disable_plugin("hello")
    assert json.loads((tmp_path / "conf" / ".callgate" / "plugins" / "hello.json").read_text())["enabled"] is False
    async with gate_of(config=file) as gate:
        assert gate.tools() == ()


async def test_plugins_and_their_settings_are_out_of_reach_of_tools(tmp_path: Path) -> None:
    write_plugin(tmp_path / "mine")

    @tool(effects="modifies_files", risk="low", scopes={"fs:write"})
    def write_file(path: str) -> str:
        """Write a file."""
        return path

    settings = Settings(autonomy=Autonomy.A4, plugins=PluginsSettings(folders=("mine",)))
    async with gate_of(write_file, config=settings, working_directory=tmp_path) as gate:
        more = PluginFolder(tmp_path / "more", settings=tmp_path / "kept", name="more")
        await gate.attach(more)
        context = Context(working_directory=str(tmp_path))
        for place in (
            "mine/hello/tools.py",
            "mine/new/manifest.json",
            ".callgate/plugins/hello.json",
            "more/x/tools.py",
            "kept/x.json",
        ):
            outcome = await gate.call("write_file", {"path": place}, context)
            assert isinstance(outcome, Refused), place
        assert (await gate.call("write_file", {"path": "notes.txt"}, context)).ok


async def test_without_plugins_a_gate_has_none() -> None:
    async with gate_of(config=FREE) as gate:
        assert gate.plugins() == ()
