"""`callgate approvals`: questions to people, and their answers. A decision here is made by somebody at this machine."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from typing import Any

import click

from callgate.cli.approval_text import approval_document, show_approvals
from callgate.cli.call_text import show_calls
from callgate.cli.document import json_option, json_wanted, print_document
from callgate.cli.ids import approval_of
from callgate.cli.json_arguments import read_object
from callgate.cli.newest import limit_option, newest
from callgate.cli.opening import Need, Tools, run, stdin_is_terminal
from callgate.cli.person import by_option, person
from callgate.cli.place import Place, place_options
from callgate.cli.proposal import Proposals, approving, proposed
from callgate.cli.question import show_question
from callgate.cli.screen import Screen
from callgate.cli.trouble import exclude, wrong
from callgate.cli.watching import go_through, watch
from callgate.model.approval import Approval, ApprovalState
from callgate.model.levels import Assurance
from callgate.runtime.gate import Callgate
from callgate.runtime.host_tools import every_host_tool

_LISTED = 100
_STATES = [state.value for state in ApprovalState]


@click.group("approvals", invoke_without_command=True)
@by_option
@place_options
@click.pass_context
def command(context: click.Context, /, *, by: str | None) -> None:
    """Questions to people: list, show, decide, watch.

    Alone, at a terminal, it goes through those that wait, one by one; elsewhere it lists them.
    """
    if context.invoked_subcommand is not None:
        if by is not None:
            wrong("--by stands after the command")
        return
    as_json = json_wanted(context)
    if stdin_is_terminal() and not as_json:
        go_through(context.obj, by=person(by))
    else:
        context.invoke(list_approvals, states=(), everything=False, limit=_LISTED, as_json=as_json)


@command.command("list")
@click.option("--state", "states", type=click.Choice(_STATES), multiple=True, help="Repeatable; pending if left out.")
@click.option("--all", "everything", is_flag=True, help="Whatever their state.")
@limit_option(_LISTED)
@place_options
@json_option
@click.pass_obj
def list_approvals(place: Place, /, **options: Any) -> None:
    """List the questions that wait."""
    exclude(state=options["states"], all=options["everything"])
    wanted, limit = (
        tuple(ApprovalState(state) for state in options["states"]) or (ApprovalState.PENDING,),
        options["limit"],
    )

    async def work(gate: Callgate) -> list[Approval]:
        among = None if options["everything"] else wanted
        return await gate.approvals(states=among, limit=limit + 1, newest_first=True)

    found = newest(run(place, work, need=Need.LOOK), limit)
    if options["as_json"]:
        print_document({"approvals": [approval_document(approval) for approval in found]})
    elif found:
        show_approvals(Screen(sys.stdout), found)
    else:
        Screen(sys.stderr).say("nothing waits for a person" if wanted == (ApprovalState.PENDING,) else "there are none")


@command.command("show")
@click.argument("approval_id", metavar="ID")
@place_options
@json_option
@click.pass_obj
def show(place: Place, /, *, approval_id: str, as_json: bool) -> None:
    """Show one question: the exact call, what would happen, and why a person is asked."""

    async def work(gate: Callgate) -> tuple[Approval, list[dict[str, Any]]]:
        found = await gate.approval(await approval_of(gate, approval_id))
        return found, await gate.before(found)

    approval, before = run(place, work, need=Need.LOOK)
    if as_json:
        print_document(approval_document(approval) | {"before": before})
        return
    screen = Screen(sys.stdout)
    show_question(screen, approval)
    screen.say("what it did before in this session", style="bold")
    if before:
        show_calls(screen, before)
    else:
        screen.say("nothing: it is its first call", indent=2)
    if approval.state is ApprovalState.PENDING:
        screen.say()
        screen.facts(_ways(place, approval))


@command.command("approve")
@click.argument("approval_id", metavar="ID")
@click.option("--edit", metavar="JSON", help="Approve with these arguments instead: all of them, @FILE, or -.")
@click.option("--digest", metavar="DIGEST", help="Only the question as you saw it: what `approvals show` calls digest.")
@by_option
@place_options
@json_option
@click.pass_obj
def approve(place: Place, /, *, approval_id: str, edit: str | None, **options: Any) -> None:
    """Say yes. Deciding runs nothing: the same call again does, once.

    A question that somebody edited since it was asked needs its --digest.
    """
    arguments = None if edit is None else read_object(edit, what="--edit")
    name, digest = person(options["by"]), options["digest"]

    async def work(gate: Callgate) -> Approval:
        found = await approval_of(gate, approval_id)
        if arguments is not None:
            gate.add(*every_host_tool(), update=True)
        return await gate.approve(found, by=name, arguments=arguments, assurance=Assurance.LOCAL, digest=digest)

    # An edited call is judged again, so its tool must be known.
    _decide(place, work, tools=Tools.NONE if edit is None else Tools.LOADED, as_json=options["as_json"])


@command.command("reject")
@click.argument("approval_id", metavar="ID")
@click.option("--why", default="", help="Told to the model.")
@by_option
@place_options
@json_option
@click.pass_obj
def reject(place: Place, /, *, approval_id: str, why: str, by: str | None, as_json: bool) -> None:
    """Say no."""
    name = person(by)

    async def work(gate: Callgate) -> Approval:
        found = await approval_of(gate, approval_id)
        return await gate.reject(found, by=name, why=why, assurance=Assurance.LOCAL)

    _decide(place, work, as_json=as_json)


@command.command("respond")
@click.argument("approval_id", metavar="ID")
@click.option("--text", required=True, help="The answer that the model gets.")
@by_option
@place_options
@json_option
@click.pass_obj
def respond(place: Place, /, *, approval_id: str, text: str, by: str | None, as_json: bool) -> None:
    """Answer the model instead of letting the call run."""
    name = person(by)

    async def work(gate: Callgate) -> Approval:
        found = await approval_of(gate, approval_id)
        return await gate.respond(found, by=name, text=text, assurance=Assurance.LOCAL)

    _decide(place, work, as_json=as_json)


command.add_command(watch)


def _decide(
    place: Place, work: Callable[[Callgate], Awaitable[Approval]], *, as_json: bool, tools: Tools = Tools.NONE
) -> None:
    async def decided(gate: Callgate) -> tuple[Approval, str | None]:
        approval = await work(gate)
        return approval, await _program_of(gate, approval)

    approval, program = run(place, decided, need=Need.EXISTING, tools=tools)
    if as_json:
        print_document(approval_document(approval))
    else:
        _say_decided(Screen(sys.stdout), approval, place=place, program=program)


async def _program_of(gate: Callgate, approval: Approval) -> str | None:
    """The program that waits for this decision, where one does."""
    found = await gate.programs(limit=10_000)
    return next((entry.id for entry in found if approval.id in {each.approval_id for each in entry.waiting}), None)


def _say_decided(screen: Screen, approval: Approval, *, place: Place, program: str | None) -> None:
    if approval.state is ApprovalState.PENDING:
        screen.say(f"noted: {approval.tool} needs another person's yes too", style="yellow")
        screen.facts(approving(place, approval, title="decide"), indent=2)
        return
    style = "green" if approval.state is ApprovalState.APPROVED else "red"
    screen.say(f"{approval.state.value}: {approval.tool}, by {approval.decided_by}", style=style)
    if program is not None:
        screen.say("Nothing has run yet: its program goes on when it is resumed.")
        screen.facts([("go on", proposed(place, "programs", "resume", program, tools=True))], indent=2)
    elif approval.state is ApprovalState.APPROVED:
        again = "the same plan, run now, makes each call of it" if approval.is_plan else "the same call again runs it"
        screen.say(f"Nothing has run yet: {again}, once.")


def _ways(place: Place, approval: Approval) -> Proposals:
    return [
        *approving(place, approval, title="yes"),
        ("no", proposed(place, "approvals", "reject", approval.id, "--why", "…")),
        ("an answer", proposed(place, "approvals", "respond", approval.id, "--text", "…")),
    ]
