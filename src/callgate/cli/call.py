"""`callgate call`: one call through the gate. A person at the terminal is asked; nothing here can answer for them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import click

from callgate.cli.asking import asker_context, asker_options
from callgate.cli.document import json_option
from callgate.cli.exit_codes import ExitCode
from callgate.cli.ids import whole
from callgate.cli.json_arguments import read_object
from callgate.cli.opening import Need, Tools, run, stdin_is_terminal
from callgate.cli.outcome_text import show_outcome
from callgate.cli.place import Place, place_options
from callgate.cli.proposal import Proposals, approving, proposed, questions
from callgate.cli.question import terminal_asker
from callgate.cli.screen import Cell
from callgate.cli.trouble import wrong
from callgate.errors import ToolNotFoundError
from callgate.model.approval import Approval
from callgate.model.context import Context
from callgate.model.outcome import Outcome, Pending
from callgate.runtime.gate import Callgate

SECONDS = click.FloatRange(min=0, min_open=True)


@click.command("call")
@click.argument("name")
@click.argument("arguments", default="{}")
@asker_options
@click.option("--wait", type=SECONDS, help="Seconds to wait for somebody else's decision, instead of asking here.")
@click.option("--timeout", type=SECONDS, help="Seconds the tool may take.")
@click.option(
    "--distinct", is_flag=True, help="A new effect on purpose, although an equal call has an unknown outcome."
)
@click.option(
    "--trace", metavar="ID", help="The trace it belongs to, an earlier call's or a name; a new one when left out."
)
@place_options
@json_option
@click.pass_obj
def command(place: Place, /, **options: Any) -> ExitCode:
    """Call the tool NAME with ARGUMENTS: one JSON object, @FILE, or - for stdin.

    Where a person has to decide, you are asked if you sit at the terminal. Otherwise the call is pending: its id and
    the command that decides it are printed, and the same call again runs it once it was approved.
    """
    arguments = read_object(options["arguments"], what="arguments")
    context = asker_context(options)

    async def work(gate: Callgate) -> tuple[Outcome, Approval | None]:
        asker = await _in_trace(gate, context, trace=options["trace"])
        more = {name: options[name] for name in ("wait", "timeout", "distinct")}
        outcome = await gate.call(options["name"], arguments, asker, **more)
        outcome = _with_near_names(gate, outcome)
        asked = outcome.approval_id if isinstance(outcome, Pending) else outcome.metadata.get("approval_id")
        return outcome, (await questions(gate, [asked])).get(asked) if asked else None

    ask = terminal_asker() if options["wait"] is None and stdin_is_terminal() else None
    try:
        outcome, question = run(place, work, need=Need.MAKE, tools=Tools.NEEDED, ask=ask, context=context)
    except KeyboardInterrupt as error:
        raise type(error)(_left(place, None if ask is None else ask.waiting)) from None
    return show_outcome(outcome, place, as_json=options["as_json"], question=question)


def _left(place: Place, question: Approval | None) -> str:
    """What an interruption leaves, and the command that goes on with it."""
    if question is None:
        return f"if the tool had begun, what is known of it is in: {place.command('outcomes', 'list')}"
    ways = [f"{title}: {way.text if isinstance(way, Cell) else way}" for title, way in _decide(place, question)]
    return "\n".join(["nothing ran; the same call again asks again, or runs once somebody decided", *ways])


def _decide(place: Place, question: Approval) -> Proposals:
    return [*approving(place, question, title="decide"), ("look", proposed(place, "approvals", "show", question.id))]


async def _in_trace(gate: Callgate, context: Context, *, trace: str | None) -> Context:
    if trace is None:
        return context
    found = await whole(gate, {"trace_id": trace})
    try:
        return context.narrow(**found)
    except ValueError as error:
        wrong(f"--trace: {error}")


def _with_near_names(gate: Callgate, outcome: Outcome) -> Outcome:
    """A person at the shell may read every name; a model is told none that it may not call."""
    if outcome.error is None or outcome.error.code != ToolNotFoundError.code:
        return outcome
    try:
        gate.tool(outcome.tool)
    except ToolNotFoundError as error:
        advice = error.info.suggestion if error.info is not None else None
        return replace(outcome, error=replace(outcome.error, suggestion=advice or outcome.error.suggestion))
    return outcome
