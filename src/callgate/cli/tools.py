"""`callgate tools`: what can be called, by whom, and what each tool declares. Makes no store."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import click

from callgate.cli.away import sources_away, tell_away
from callgate.cli.document import json_option, print_document
from callgate.cli.exit_codes import ExitCode
from callgate.cli.newest import SO_MANY
from callgate.cli.opening import NO_TOOLS, Need, Tools, run, settings_of
from callgate.cli.place import Place, place_options
from callgate.cli.screen import Column, Screen
from callgate.cli.tool_text import show_tool, tool_document, tool_row
from callgate.cli.tools_sign_in import login, logout
from callgate.cli.tools_trust import diff, distrust, review, trust
from callgate.cli.trouble import wrong
from callgate.model.context import Context
from callgate.model.tool import Tool
from callgate.runtime.gate import Callgate


@click.group("tools")
def command() -> None:
    """What can be called (list, show, search), whom to trust (diff, trust, distrust, review), and login, logout."""


@command.command("list")
@click.option("--role", help="Only what this role may call; the whole registry when left out.")
@place_options
@json_option
@click.pass_obj
def list_tools(place: Place, /, *, role: str | None, as_json: bool) -> ExitCode:
    """List the tools, or those that a role may call."""
    _need_role(place, role)

    async def work(gate: Callgate) -> tuple[_Listed, bool]:
        found = gate.tools() if role is None else gate.pool(Context(role=role))
        return _Listed(found, _held(gate), sources_away(gate)), bool(gate.tools())

    listed, any_known = run(place, work, need=Need.IF_THERE, tools=Tools.LOADED)
    none = f"the role {role} may call none of the tools" if any_known else NO_TOOLS
    return _show_list(listed, none="" if listed.away and not any_known else none, as_json=as_json)


@command.command("show")
@click.argument("name")
@place_options
@json_option
@click.pass_obj
def show(place: Place, /, *, name: str, as_json: bool) -> None:
    """Show one tool: its arguments, what it returns, examples, and everything it declares."""

    async def work(gate: Callgate) -> tuple[Tool, str | None]:
        return gate.tool(name), _held(gate).get(name)

    found, held = run(place, work, need=Need.IF_THERE, tools=Tools.LOADED)
    if as_json:
        print_document(tool_document(found, held=held))
    else:
        show_tool(Screen(sys.stdout), found, held=held, place=place)


@command.command("search")
@click.argument("words", nargs=-1, required=True)
@click.option("--role", help="Only among what this role may call.")
@click.option("--limit", type=SO_MANY, default=10, show_default=True, help="At most so many, the best.")
@place_options
@json_option
@click.pass_obj
def search(place: Place, /, **options: Any) -> ExitCode:
    """Find tools by WORDS, best first."""
    _need_role(place, options["role"])
    text, role, limit = " ".join(options["words"]), options["role"], options["limit"]

    async def work(gate: Callgate) -> _Listed:
        found = gate.search_all(text, limit=limit)
        if role is not None:
            found = gate.search(text, limit=limit, context=Context(role=role))
        return _Listed(found, _held(gate), sources_away(gate))

    listed = run(place, work, need=Need.IF_THERE, tools=Tools.LOADED)
    return _show_list(listed, none=f"no tool fits: {text}", as_json=options["as_json"])


for other in (diff, trust, distrust, review, login, logout):
    command.add_command(other)


def _held(gate: Callgate) -> Mapping[str, str]:
    return {found.name: found.reason or "" for found in gate.quarantined()}


def _need_role(place: Place, role: str | None) -> None:
    roles = settings_of(place).roles
    known = ["default"] if roles is None else sorted(roles)
    if role is not None and role not in known:
        wrong(f"there is no role {role}; there is {', '.join(known) or 'none'}")


class _Listed(NamedTuple):
    """What a list shows, and what it cannot."""

    tools: Sequence[Tool]
    held: Mapping[str, str]
    """Why a tool is quarantined, by its name."""
    away: Mapping[str, str]
    """Why a source could not be reached, by its name."""


def _show_list(listed: _Listed, *, none: str, as_json: bool) -> ExitCode:
    tools, held, away = listed
    if as_json:
        body: dict[str, Any] = {"tools": [tool_document(tool, held=held.get(tool.name)) for tool in tools]}
        print_document(body | ({"unreachable": dict(away)} if away else {}))
    elif tools:
        heads = [Column("NAME", whole=True), Column("RISK"), Column("EFFECTS"), Column("DESCRIPTION")]
        Screen(sys.stdout).table(heads, [tool_row(tool, held=held.get(tool.name)) for tool in tools])
    elif none:
        Screen(sys.stderr).say(none)
    return tell_away(away, quiet=as_json)
