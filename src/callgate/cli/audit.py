"""`callgate audit`: what was recorded, and whether it still is what was recorded."""

from __future__ import annotations

import sys
from typing import Any

import click

from callgate.cli.call_text import show_calls, show_invocation, show_usage
from callgate.cli.document import json_option, print_document
from callgate.cli.event_text import TOLD, event_document, show_events, show_story
from callgate.cli.exit_codes import ExitCode
from callgate.cli.filters import chosen, filter_options
from callgate.cli.following import follow_events
from callgate.cli.ids import story_of, whole
from callgate.cli.newest import SO_MANY
from callgate.cli.opening import Need, run
from callgate.cli.place import Place, place_options
from callgate.cli.record_changes import accept_restore, erase, export, rebuild
from callgate.cli.report_text import code_of_report, show_report
from callgate.cli.screen import Screen
from callgate.cli.trouble import wrong
from callgate.model.call import CALL_STATUSES
from callgate.model.event import Event
from callgate.runtime.gate import Callgate

_EQUAL = ("tool", "status", "principal", "session", "trace")


@click.group("audit")
def command() -> None:
    """What was recorded: verify, list, show, calls, usage, export, rebuild, erase, accept-restore."""


@command.command("verify")
@place_options
@json_option
@click.pass_obj
def verify(place: Place, /, *, as_json: bool) -> ExitCode:
    """Find whatever was edited, removed, reordered or put back, and say how far the record is proven."""
    report = run(place, lambda gate: gate.verify_audit(), need=Need.LOOK)
    if as_json:
        print_document(report.to_json())
    else:
        show_report(Screen(sys.stdout), report, what="the audit log")
    return code_of_report(ok=report.ok)


@command.command("list")
@filter_options
@click.option("--limit", type=SO_MANY, default=50, show_default=True, help="At most so many, the newest.")
@click.option("--all", "everything", is_flag=True, help="Also openings, checkpoints and registrations of tools.")
@click.option("--follow", is_flag=True, help="Go on with new events as they come, until Ctrl-C.")
@place_options
@json_option
@click.pass_obj
def list_events(place: Place, /, **options: Any) -> None:
    """List events, the newest last. With --follow and --json each event is one document on a line of its own."""
    filters = {} if options["everything"] else {"types": TOLD}
    filters |= chosen(options)
    if options["follow"]:
        follow_events(place, filters, options=options)
        return

    async def work(gate: Callgate) -> list[Event]:
        return await gate.newest_events(options["limit"], **await whole(gate, filters))

    found = run(place, work, need=Need.LOOK)
    if options["as_json"]:
        print_document({"events": [event_document(event) for event in found]})
    elif found:
        show_events(Screen(sys.stdout), found)
    else:
        Screen(sys.stderr).say("no event fits")


@command.command("show")
@click.argument("identifier", metavar="ID")
@place_options
@json_option
@click.pass_obj
def show(place: Place, /, *, identifier: str, as_json: bool) -> None:
    """Tell the whole story of a call, a trace, or one event, by its ID; that of an approval stands for its call."""

    async def work(gate: Callgate) -> tuple[list[Event], dict[str, Any] | None]:
        found = await _events(gate, call_id=identifier) or await _events(gate, trace_id=identifier)
        if found:
            return found, await gate.invocation(identifier)
        meant = await story_of(gate, identifier)
        if meant is None:
            listed = place.command("audit", "list")
            wrong(f"no call, trace or event has the id {identifier}; look for it with: {listed}")
        return await _events(gate, **meant), await gate.invocation(meant.get("call_id", ""))

    found, invocation = run(place, work, need=Need.LOOK)
    if as_json:
        of_call = {} if invocation is None else {"invocation": invocation}
        print_document(of_call | {"events": [event_document(event) for event in found]})
        return
    screen = Screen(sys.stdout)
    if invocation is not None:
        show_invocation(screen, invocation)
        screen.say()
    show_story(screen, found)


async def _events(
    gate: Callgate, *, call_id: str | None = None, trace_id: str | None = None, event_id: str | None = None
) -> list[Event]:
    found = gate.events(call_id=call_id, trace_id=trace_id)
    return [event async for event in found if event_id in {None, event.id}]


@command.command("calls")
@click.option("--tool", help="Only calls of this tool.")
@click.option("--status", type=click.Choice(CALL_STATUSES), help="Only calls that stand so.")
@click.option("--principal", help="Only calls of this agent.")
@click.option("--session", help="Only calls of this session.")
@click.option("--trace", metavar="ID", help="Only calls of this trace.")
@click.option("--limit", type=SO_MANY, default=50, show_default=True, help="At most so many, the newest.")
@place_options
@json_option
@click.pass_obj
def calls(place: Place, /, **options: Any) -> None:
    """List calls: who called what, when, and how it ended."""
    equal = {name: options[name] for name in _EQUAL if options[name] is not None}
    found = run(place, lambda gate: gate.calls(limit=options["limit"], **equal), need=Need.LOOK)
    if options["as_json"]:
        print_document({"calls": found})
    elif found:
        show_calls(Screen(sys.stdout), found)
    else:
        Screen(sys.stderr).say("no call fits")


@command.command("usage")
@place_options
@json_option
@click.pass_obj
def usage(place: Place, /, *, as_json: bool) -> None:
    """Count calls by day and tool, how they ended and how long they took."""
    found = run(place, lambda gate: gate.usage(), need=Need.LOOK)
    if as_json:
        print_document({"usage": found})
    elif found:
        show_usage(Screen(sys.stdout), found)
    else:
        Screen(sys.stderr).say("nothing was called yet")


for _command in (export, rebuild, erase, accept_restore):
    command.add_command(_command)
