"""`callgate coverage`: which tools of the hosts on this machine go through Callgate, and which do not."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from callgate.cli.document import json_option, print_document
from callgate.cli.exit_codes import ExitCode
from callgate.cli.screen import Cell, Column, Screen
from callgate.runtime.coverage import GOVERNED, NOT_GOVERNED, UNDECIDABLE, Covered, covered

_STYLES = {GOVERNED: "green", NOT_GOVERNED: "red", UNDECIDABLE: "yellow"}


@click.command("coverage")
@json_option
def command(*, as_json: bool) -> ExitCode:
    """Say which MCP servers and own tools of the hosts here go through Callgate, and which do not.

    Looks at the files of Claude Code, Cursor, VS Code, Claude Desktop, Codex and Copilot, of this folder and of you. A
    host that is configured elsewhere is not seen. Ends with 1 where something is not governed, or undecidable.
    """
    found = list(covered(Path.cwd()))
    ok = all(each.state == GOVERNED for each in found)
    if as_json:
        body = [
            {"host": each.host, "what": each.what, "state": each.state, "where": each.where, "why": each.why}
            for each in found
        ]
        print_document({"ok": ok, "covered": body})
    else:
        _show(Screen(sys.stdout), found)
    return ExitCode.SUCCEEDED if ok else ExitCode.FAILED


def _show(screen: Screen, found: list[Covered]) -> None:
    if not found:
        screen.say("No host was found here: nothing of Claude Code, Cursor, VS Code, Claude Desktop, Codex or Copilot.")
        return
    heads = [Column("HOST", whole=True), Column("WHAT"), Column("STATE", whole=True), Column("WHERE"), Column("WHY")]
    rows = [[each.host, each.what, Cell(each.state, _STYLES[each.state]), each.where, each.why] for each in found]
    screen.table(heads, rows)
    left = sum(each.state != GOVERNED for each in found)
    screen.say()
    if left:
        screen.say(f"{left} of {len(found)} do not go through Callgate", style="red")
    else:
        screen.say("everything that was found goes through Callgate", style="green")
