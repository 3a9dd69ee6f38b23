"""`callgate grants`: standing answers to *confirm*. Narrow, with an end, and taken back at once."""

from __future__ import annotations

import sys
from typing import Any

import click

from callgate.cli.document import json_option, print_document
from callgate.cli.ids import shortener, the_one
from callgate.cli.json_arguments import read_object
from callgate.cli.opening import Need, Tools, run
from callgate.cli.person import by_option, person
from callgate.cli.place import Place, place_options
from callgate.cli.screen import Column, Screen
from callgate.cli.trouble import exclude
from callgate.model.approval import Grant, GrantScope
from callgate.model.canonical import dumps
from callgate.model.levels import Risk
from callgate.runtime.gate import Callgate

_MINUTE = 60.0
_HIDDEN = frozenset({"mac", "definition_hash"})


@click.group("grants")
def command() -> None:
    """Standing answers to questions, so that one agent is not asked again: list, give, revoke.

    A grant never lifts a deny, holds for one tool as it is now, and has an end.
    """


@command.command("list")
@click.option("--principal", metavar="NAME", help="Only those of this agent.")
@click.option("--tool", help="Only those for this tool.")
@place_options
@json_option
@click.pass_obj
def list_grants(place: Place, /, *, principal: str | None, tool: str | None, as_json: bool) -> None:
    """List the grants in force."""
    found = run(place, lambda gate: gate.grants(principal=principal, tool=tool), need=Need.LOOK)
    if as_json:
        print_document({"grants": [_document(each) for each in found]})
        return
    if not found:
        Screen(sys.stderr).say("nothing is granted: every question is asked")
        return
    screen = Screen(sys.stdout)
    heads = [Column("ID", whole=True), Column("TOOL"), Column("TO"), Column("WHERE"), Column("ONLY"), Column("UNTIL")]
    short = shortener(screen, (each.id for each in found))
    screen.table(heads, [[short(each.id), *_row(each), screen.moment(each.until)] for each in found])


@command.command("give")
@click.argument("tool")
@click.option("--principal", metavar="NAME", default="agent", show_default=True, help="The agent that it is for.")
@click.option("--only", metavar="JSON", default="{}", help="Arguments that must be exactly so: a JSON object.")
@click.option(
    "--risk",
    type=click.Choice([risk.label for risk in Risk]),
    default="medium",
    show_default=True,
    help="Only calls of at most this risk.",
)
@click.option("--session", metavar="NAME", help="Only in this session; default when nothing else is said.")
@click.option("--task", metavar="ID", help="Only in this task.")
@click.option("--anywhere", is_flag=True, help="In every session of the agent.")
@click.option(
    "--minutes", type=click.FloatRange(min=0, min_open=True), default=60.0, show_default=True, help="How long it lasts."
)
@by_option
@place_options
@json_option
@click.pass_obj
def give(place: Place, /, *, tool: str, by: str | None, as_json: bool, **options: Any) -> None:
    """Answer yes beforehand to calls of TOOL by one agent, up to a risk, for a time."""
    scope, scope_id = _scope(options)
    pattern = read_object(options["only"], what="--only")
    who = person(by)

    async def work(gate: Callgate) -> tuple[Grant, Risk]:
        made = await gate.grant(
            tool,
            by=who,
            principal=options["principal"],
            pattern=pattern,
            max_risk=Risk[options["risk"].upper()],
            scope=scope,
            scope_id=scope_id,
            seconds=options["minutes"] * _MINUTE,
        )
        return made, gate.tool(tool).base_risk

    made, risk = run(place, work, need=Need.EXISTING, tools=Tools.NEEDED)
    if as_json:
        print_document(_document(made))
    else:
        _show_given(Screen(sys.stdout), made, risk=risk, place=place)


def _show_given(screen: Screen, made: Grant, *, risk: Risk, place: Place) -> None:
    screen.say(
        f"granted: {made.principal} is not asked about {made.tool}, up to {made.max_risk.label} risk", style="green"
    )
    if risk > made.max_risk:
        more = f"{made.principal} is still asked about it, unless you give --risk {risk.label}"
        screen.say(f"{made.tool} is of {risk.label} risk: {more}", style="yellow")
    screen.facts([("until", screen.moment(made.until)), ("take it back", place.command("grants", "revoke", made.id))])


@command.command("revoke")
@click.argument("grant_id", metavar="ID")
@by_option
@place_options
@json_option
@click.pass_obj
def revoke(place: Place, /, *, grant_id: str, by: str | None, as_json: bool) -> None:
    """Take a grant back: from now on its calls are asked about again."""
    who = person(by)

    async def work(gate: Callgate) -> tuple[Grant, list[Grant]]:
        ended = await gate.revoke(await _meant(gate, grant_id), by=who)
        return ended, await gate.grants(principal=ended.principal, tool=ended.tool)

    ended, left = run(place, work, need=Need.EXISTING)
    if as_json:
        print_document(_document(ended))
    elif left:
        others = ", ".join(f"{each.id} ({', '.join(filter(None, _row(each)))})" for each in left)
        Screen(sys.stdout).say(f"That grant is taken back. Of {ended.tool}, this is still granted: {others}")
    else:
        Screen(sys.stdout).say(f"{ended.principal} is asked about {ended.tool} again.")


def _scope(options: dict[str, Any]) -> tuple[GrantScope, str]:
    exclude(**{name: options[name] for name in ("session", "task", "anywhere")})
    if options["anywhere"]:
        return GrantScope.UNTIL, ""
    if options["task"]:
        return GrantScope.TASK, options["task"]
    return GrantScope.SESSION, options["session"] or "default"


async def _meant(gate: Callgate, given: str) -> str:
    """The grant that is meant: by its id, or a part of it."""
    return the_one(given, [(each.id, each.id) for each in await gate.grants()], what="grant") or given


def _row(each: Grant) -> list[str]:
    where = {GrantScope.UNTIL: "anywhere"}.get(each.scope, f"{each.scope.value} {each.scope_id}")
    only = "" if not each.pattern else dumps(each.pattern).decode()
    shown = f"{each.tool}, up to {each.max_risk.label}"
    return [shown, each.principal, where, only]


def _document(grant: Grant) -> dict[str, Any]:
    fields = {name: getattr(grant, name) for name in Grant.__slots__ if name not in _HIDDEN}
    return fields | {"max_risk": grant.max_risk.label, "scope": grant.scope.value}
