"""`callgate plugins`: the plugins of this place. Listing runs none of their code; checking does."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from callgate.cli.document import json_option, print_document
from callgate.cli.exit_codes import ExitCode
from callgate.cli.opening import settings_of
from callgate.cli.place import Place, place_options
from callgate.cli.screen import Cell, Column, Screen
from callgate.cli.streams import stdout_kept
from callgate.runtime.plugins import (
    PluginState,
    ask_for_reload,
    check_plugins,
    list_plugins,
    new_plugin,
    switch_plugin,
)

if TYPE_CHECKING:
    from callgate.model.source import Failure

_HEADS = [Column("NAME", whole=True), Column("VERSION"), Column("STATE"), Column("TOOLS"), Column("DESCRIPTION")]


@click.group("plugins")
def command() -> None:
    """Folders of plugins: list, new, check, enable, disable, reload.

    The folders are named in callgate.yaml: `plugins: {folders: [plugins], accept: [NAME]}`. What a plugin declares
    counts once its name is there; until then its tools are refused.
    """


@command.command("list")
@place_options
@json_option
@click.pass_obj
def list_all(place: Place, /, *, as_json: bool) -> None:
    """List every plugin and how it stands. Runs none of their code."""
    found = list_plugins(settings_of(place), Path.cwd())
    if as_json:
        print_document({"plugins": [_document(state) for state in found]})
    elif found:
        Screen(sys.stdout).table(_HEADS, [_row(state) for state in found])
        _show_faults(found)
    else:
        Screen(sys.stderr).say("no plugins are there yet; make one with: callgate plugins new NAME")


@command.command("new")
@click.argument("name")
@place_options
@json_option
@click.pass_obj
def new(place: Place, /, *, name: str, as_json: bool) -> None:
    """Make a plugin NAME that loads as it stands, in the first configured folder."""
    path = new_plugin(name, settings_of(place), Path.cwd())
    if as_json:
        print_document({"plugin": name, "folder": str(path)})
        return
    screen = Screen(sys.stdout)
    screen.say(f"made {path}", style="green")
    screen.say(f"accept what it declares in callgate.yaml, and it can be called: plugins: {{accept: [{name}]}}")


@command.command("check")
@click.argument("name", required=False)
@place_options
@json_option
@click.pass_obj
def check(place: Place, /, *, name: str | None, as_json: bool) -> ExitCode:
    """Load every plugin, or only NAME, as a gate would, and say what is wrong. Runs their modules."""
    return _checked(place, name, as_json=as_json)


@command.command("enable")
@click.argument("name")
@click.option("--tool", help="Only this tool of it.")
@place_options
@json_option
@click.pass_obj
def enable(place: Place, /, **options: Any) -> None:
    """Switch the plugin NAME on for good, or one tool of it. Gates that are open serve it when they load it again."""
    _switch(place, on=True, **options)


@command.command("disable")
@click.argument("name")
@click.option("--tool", help="Only this tool of it.")
@place_options
@json_option
@click.pass_obj
def disable(place: Place, /, **options: Any) -> None:
    """Switch the plugin NAME off for good, or one tool of it. Gates that are open refuse its next call."""
    _switch(place, on=False, **options)


@command.command("reload")
@place_options
@json_option
@click.pass_obj
def reload(place: Place, /, *, as_json: bool) -> ExitCode:
    """Check every plugin, and have the gates that watch them (`plugins: {reload: true}`) load them again."""
    ask_for_reload(settings_of(place), Path.cwd())
    return _checked(place, None, as_json=as_json)


def _checked(place: Place, name: str | None, *, as_json: bool) -> ExitCode:
    with stdout_kept():
        states, failures = check_plugins(settings_of(place), Path.cwd(), only=name)
    if as_json:
        told = [{"name": failure.name, "reason": failure.reason} for failure in failures]
        print_document({"ok": not failures, "plugins": [_document(state) for state in states], "failures": told})
    else:
        _show_check(states, failures)
    return ExitCode.FAILED if failures else ExitCode.SUCCEEDED


def _switch(place: Place, *, name: str, tool: str | None, on: bool, as_json: bool) -> None:
    state = switch_plugin(settings_of(place), Path.cwd(), name, on=on, tool=tool)
    if as_json:
        print_document(_document(state))
    else:
        what = name if tool is None else f"{tool} of {name}"
        Screen(sys.stdout).say(f"{what} is {'on' if on else 'off'}", style="green")
        _show_faults([state])


def _show_check(states: Sequence[PluginState], failures: Sequence[Failure]) -> None:
    screen = Screen(sys.stdout)
    if states:
        screen.table(_HEADS, [_row(state) for state in states])
    for failure in failures:
        Screen(sys.stderr).say(f"{failure.name}: {failure.reason}", style="red")
    if not failures:
        screen.say("every plugin loads" if states else "no plugins are there", style="green" if states else "")


def _show_faults(states: Iterable[PluginState]) -> None:
    for state in states:
        if state.fault is not None:
            Screen(sys.stderr).say(f"{state.name}: {state.fault}", style="red")


def _row(state: PluginState) -> list[str | Cell]:
    on = sum(tool.enabled for tool in state.tools)
    return [state.name, state.version, _standing(state), f"{on} of {len(state.tools)}", state.description]


def _standing(state: PluginState) -> Cell:
    if state.fault is not None:
        return Cell("broken", "red")
    if not state.enabled:
        return Cell("off", "yellow")
    return Cell("on", "green") if state.accepted else Cell("not accepted", "yellow")


def _document(state: PluginState) -> dict[str, Any]:
    return {
        "name": state.name,
        "version": state.version,
        "description": state.description,
        "folder": state.folder,
        "enabled": state.enabled,
        "accepted": state.accepted,
        "fault": state.fault,
        "digest": state.digest,
        "tools": [
            {
                "name": tool.name,
                "description": tool.description,
                "category": tool.category,
                "enabled": tool.enabled,
                "fault": tool.fault,
            }
            for tool in state.tools
        ],
    }
