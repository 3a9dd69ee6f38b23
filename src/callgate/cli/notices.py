"""`callgate notices`: what agents left for themselves with `notify_self`. Looking takes nothing; collecting does."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import click

from callgate.cli.asking import context_of
from callgate.cli.document import json_option, print_document
from callgate.cli.newest import limit_option, newest
from callgate.cli.opening import Need, run
from callgate.cli.place import Place, place_options
from callgate.cli.screen import Cell, Column, Screen
from callgate.model.notice import INJECT_AT, Notice, Waiting
from callgate.runtime.gate import Callgate

_STYLES = {"critical": "red", "high": "yellow", "low": "dim"}


@click.group("notices")
def command() -> None:
    """What agents left for themselves: list, collect."""


@command.command("list")
@click.option("--principal", metavar="NAME", help="Only those of this agent.")
@click.option("--user", metavar="NAME", help="Only those of agents that act for this user.")
@click.option("--session", metavar="NAME", help="Only those that were left in this session.")
@limit_option(100)
@place_options
@json_option
@click.pass_obj
def list_notices(place: Place, /, **options: Any) -> None:
    """List what waits, and for whom. It goes on waiting."""
    names, limit = {name: options[name] for name in ("principal", "user", "session")}, options["limit"]

    async def work(gate: Callgate) -> tuple[Waiting, ...]:
        return await gate.waiting_notices(**names)

    found = newest([*reversed(run(place, work, need=Need.EXISTING))][: limit + 1], limit)
    if options["as_json"]:
        print_document({"notices": [_document(each.notice, each) for each in found]})
    elif found:
        _show(Screen(sys.stdout), found)
    else:
        Screen(sys.stderr).say("nothing waits")


@command.command("collect")
@click.option("--session", default="default", show_default=True, help="The session that goes on.")
@click.option("--principal", default="agent", show_default=True, help="The agent that goes on.")
@click.option("--user", metavar="NAME", help="For whom it acts; your user name when left out.")
@click.option("--at", type=click.Choice([*INJECT_AT.values()]), help="Only those that are to be handed in there.")
@place_options
@json_option
@click.pass_obj
def collect(place: Place, /, **options: Any) -> None:
    """Hand out what waits for an agent, oldest first. Each is handed out once: from now on it waits no more.

    It is what the agent left in this session, and what is to outlive its own, once that is not at work any more. The
    session of whoever names none ends with the command.
    """
    context = context_of(options)

    async def work(gate: Callgate) -> tuple[Notice, ...]:
        return await gate.notices(context, at=options["at"])

    found = run(place, work, need=Need.EXISTING)
    if options["as_json"]:
        print_document({"notices": [_document(each) for each in found]})
    elif found:
        screen = Screen(sys.stdout)
        for each in found:  # whole, since nobody can read it here again
            screen.say(each.to_text(), style=_STYLES.get(each.priority, ""))
    else:
        Screen(sys.stderr).say("nothing waits")


def _show(screen: Screen, found: Sequence[Waiting]) -> None:
    heads = [Column("LEFT"), Column("BY"), Column("SESSION"), Column("PRIORITY"), Column("CATEGORY"), Column("MESSAGE")]
    screen.table(
        heads,
        [
            [
                screen.moment(each.notice.time),
                each.principal if each.user is None else f"{each.principal} for {each.user}",
                f"{each.notice.session}, or later" if each.notice.persistence_id else each.notice.session,
                Cell(each.notice.priority, _STYLES.get(each.notice.priority, "")),
                each.notice.category,
                each.notice.message,
            ]
            for each in found
        ],
    )


def _document(notice: Notice, waiting: Waiting | None = None) -> dict[str, Any]:
    of_whom = {} if waiting is None else {"principal": waiting.principal, "user": waiting.user}
    return asdict(notice) | of_whom
