"""Programs for a person: where one stands, what it waits for, and what can be done next."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from callgate.cli.ids import shortener
from callgate.cli.moments import moment
from callgate.cli.place import Place
from callgate.cli.proposal import Proposals, approving, proposed
from callgate.cli.screen import Cell, Column, Screen
from callgate.model.approval import Approval
from callgate.model.program import ProgramEntry, ProgramRun, ProgramState

_STYLES = {
    ProgramState.FINISHED: "green",
    ProgramState.FAILED: "red",
    ProgramState.SLEEPING: "yellow",
    ProgramState.PROPOSED: "yellow",
    ProgramState.INTERRUPTED: "yellow",
}
_CAN_GO_ON = frozenset({ProgramState.SLEEPING, ProgramState.INTERRUPTED, ProgramState.PROPOSED})


def entry_document(entry: ProgramEntry) -> dict[str, Any]:
    """One line of a listing as JSON."""
    return {
        "program_id": entry.id,
        "state": entry.state.value,
        "principal": entry.principal,
        "session": entry.session,
        "started_at": entry.started_at,
        "calls": entry.calls,
        "waiting_for": [{"tool": each.tool, "approval_id": each.approval_id} for each in entry.waiting],
    }


def show_programs(screen: Screen, entries: Iterable[ProgramEntry]) -> None:
    """One line each."""
    heads = [
        Column("STARTED", whole=True),
        Column("PROGRAM", whole=True),
        Column("STATE", whole=True),
        Column("CALLS", whole=True),
        Column("WAITS FOR"),
    ]
    listed = list(entries)
    short = shortener(screen, (entry.id for entry in listed))
    screen.table(
        heads,
        [
            [
                screen.moment(entry.started_at),
                short(entry.id),
                Cell(entry.state.value, _STYLES.get(entry.state, "")),
                str(entry.calls),
                ", ".join(each.tool for each in entry.waiting),
            ]
            for entry in listed
        ],
    )


class Told(NamedTuple):
    """A program as it stands, and what it waits for."""

    run: ProgramRun
    questions: Mapping[str, Approval]
    """By the id of the approval."""


def show_program(screen: Screen, told: Told, *, place: Place, tools_known: bool = True) -> None:
    """What it printed, its value or its error, and how it can go on; the command for that needs its tools."""
    run = told.run
    if run.printed:
        screen.say(run.printed.rstrip("\n"))
    if run.ok:
        screen.say(run.value if isinstance(run.value, str) else json.dumps(run.value, ensure_ascii=False))
        return
    screen.say(f"the program is {run.state.value}", style=_STYLES.get(run.state, ""))
    if run.error is not None:
        screen.say(f"{run.error.kind}: {run.error.message}", indent=2)
    for at, planned in enumerate(run.plan, 1):
        screen.say(f"{at}. {planned.what} ({planned.verdict})", indent=2)
    for each in run.waiting:
        screen.say(f"{each.tool} waits for a person until {moment(each.expires_at)}", indent=2)
    screen.facts(_ways(place, told, tools_known=tools_known), indent=2)


def _ways(place: Place, told: Told, *, tools_known: bool) -> Proposals:
    run, ways = told.run, list[tuple[str, str | Cell]]()
    for question in told.questions.values():
        ways += approving(place, question, title="decide")
    if run.state in _CAN_GO_ON:
        where = () if tools_known else ("--module", "MODULE")
        ways.append(("go on", proposed(place, "programs", "resume", run.id, *where, tools=True)))
        ways += [] if tools_known else [("MODULE", "where its tools are, if a module was named when it was run")]
    return ways
