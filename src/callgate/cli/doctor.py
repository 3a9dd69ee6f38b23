"""`callgate doctor`: looks at everything Callgate rests on, and says what to do about each. Repairs nothing."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import click

from callgate.cli.document import json_option, print_document
from callgate.cli.exit_codes import ExitCode
from callgate.cli.opening import Need, Tools, run, settings_of, store_url
from callgate.cli.place import Place, place_options
from callgate.cli.screen import Cell, Screen
from callgate.errors import CallgateError, ConfigurationError
from callgate.runtime.doctor import OK, WRONG, Fact, look_around, look_inside
from callgate.runtime.doctor_servers import look_at_servers
from callgate.runtime.offline import store_exists
from callgate.settings.values import Settings

_STYLES = {"ok": "green", "note": "yellow", "wrong": "red"}


@click.command("doctor")
@place_options
@json_option
@click.pass_obj
def command(place: Place, /, *, as_json: bool) -> ExitCode:
    """Look at versions, extras, configuration, key, store, disk, MCP servers and what waits; say what to do about each.

    The servers of the configuration are connected to, and their programs started, for as long as that takes.
    """
    facts = list(_facts(place))
    ok = all(fact.state != WRONG for fact in facts)
    if as_json:
        body = [{"name": each.name, "state": each.state, "text": each.text, "advice": each.advice} for each in facts]
        print_document({"ok": ok, "facts": body})
    else:
        _show(Screen(sys.stdout), facts)
    return ExitCode.SUCCEEDED if ok else ExitCode.FAILED


def _facts(place: Place) -> Iterator[Fact]:
    settings, fault = Settings(), None
    try:
        settings = settings_of(place)
    except ConfigurationError as error:
        fault = error
    url = store_url(place, settings)
    yield from look_around(fault or settings, url)
    if fault is not None:
        return
    yield from _servers(place, settings)
    if not store_exists(url):
        return
    try:
        yield from run(place, look_inside, need=Need.LOOK)
    except CallgateError as error:
        yield Fact("opening", WRONG, str(error))


def _servers(place: Place, settings: Settings) -> list[Fact]:
    if not settings.mcp_servers and not settings.mcp_files:
        return [Fact("mcp servers", OK, "none is configured")]
    try:
        return run(place, lambda gate: look_at_servers(gate, settings), need=Need.IF_THERE, tools=Tools.SERVERS)
    except CallgateError as error:
        return [Fact("mcp servers", WRONG, str(error))]


def _show(screen: Screen, facts: list[Fact]) -> None:
    screen.facts([(fact.name, _cell(fact)) for fact in facts])
    wrong = sum(fact.state == WRONG for fact in facts)
    screen.say()
    if wrong:
        screen.say(f"{wrong} of {len(facts)} things need you", style="red")
    else:
        screen.say("nothing is wrong", style="green")


def _cell(fact: Fact) -> Cell:
    state = "" if fact.state == "ok" else f"{fact.state}: "
    advice = f"\n-> {fact.advice}" if fact.advice else ""
    return Cell(f"{state}{fact.text}{advice}", _STYLES[fact.state] if fact.state != "ok" else "")
