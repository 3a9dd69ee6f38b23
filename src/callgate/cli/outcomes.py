"""`callgate outcomes`: calls nobody knows the end of, and how it comes to be known. Never by an agent."""

from __future__ import annotations

import sys
from typing import Any

import click

from callgate.cli.attempt_text import attempt_document, known_end, show_attempt, show_attempts
from callgate.cli.document import json_option, print_document
from callgate.cli.exit_codes import ExitCode
from callgate.cli.ids import the_one
from callgate.cli.json_arguments import read_value
from callgate.cli.newest import limit_option, newest
from callgate.cli.opening import Need, Tools, run
from callgate.cli.outcome_text import show_outcome
from callgate.cli.person import by_option, person
from callgate.cli.place import Place, place_options
from callgate.cli.screen import Screen
from callgate.cli.trouble import exclude, wrong
from callgate.errors import ToolNotFoundError
from callgate.model.attempt import Attempt, AttemptState
from callgate.model.context import Context
from callgate.model.levels import Assurance
from callgate.model.outcome import Outcome
from callgate.runtime.gate import Callgate

_STATES = [state.value for state in AttemptState]
_ANSWERS = {
    "happened": "it happened, says the tool; the key answers with that from now on",
    "absent": "it did not happen, says the tool; the key is free again",
    "cannot_tell": "the tool cannot tell; look for yourself, then say it",
}


@click.group("outcomes")
def command() -> None:
    """Calls nobody knows the end of: list, show, verify, resolve."""


@command.command("list")
@click.option("--state", type=click.Choice(_STATES), help="The ledger's rows in this state.")
@click.option("--all", "everything", is_flag=True, help="Every row of the ledger.")
@limit_option(100)
@place_options
@json_option
@click.pass_obj
def list_outcomes(place: Place, /, **options: Any) -> None:
    """List what somebody has to look at: unknown outcomes, and failures that may have left something behind."""
    state, everything, limit = options["state"], options["everything"], options["limit"]
    exclude(state=state, all=everything)

    async def work(gate: Callgate) -> list[Attempt]:
        if state is None and not everything:
            return await gate.unknown_outcomes(limit=limit + 1, newest_first=True)
        wanted = None if state is None else AttemptState(state)
        return await gate.attempts(state=wanted, limit=limit + 1, newest_first=True)

    found = newest(run(place, work, need=Need.LOOK), limit)
    if options["as_json"]:
        print_document({"outcomes": [attempt_document(attempt) for attempt in found]})
    elif found:
        show_attempts(Screen(sys.stdout), found)
    else:
        Screen(sys.stderr).say("nothing to look at" if state is None else "there are none")


def _key_options(function: Any) -> Any:
    for option in (
        click.option("--session", help="Whose key, where several sessions use it."),
        click.option("--principal", help="Whose key, where several agents use it."),
        click.argument("key"),
    ):
        function = option(function)
    return function


@command.command("show")
@_key_options
@place_options
@json_option
@click.pass_obj
def show(place: Place, /, **options: Any) -> None:
    """Show what the ledger has under a key."""

    async def work(gate: Callgate) -> Attempt:
        return await _find(gate, options)

    found = run(place, work, need=Need.LOOK)
    if options["as_json"]:
        print_document(attempt_document(found))
    else:
        show_attempt(Screen(sys.stdout), found, place=place)


@command.command("verify")
@_key_options
@place_options
@json_option
@click.pass_obj
def verify(place: Place, /, **options: Any) -> ExitCode:
    """Ask the tool itself whether it happened: an unknown outcome, or a failure that may have left something behind.

    Its module must be known, and the tool must have `verify`.
    """

    async def work(gate: Callgate) -> tuple[Attempt, str]:
        found = await _find(gate, options)
        if not found.open_question:
            wrong(f"there is nothing to find out about key {found.key.key}: {known_end(found)}")
        _need_tool(gate, found.tool)
        return found, await gate.verify_outcome(found.key.key, _context(found))

    found, answer = run(place, work, need=Need.EXISTING, tools=Tools.LOADED)
    if options["as_json"]:
        print_document({"key": found.key.key, "tool": found.tool, "answer": answer})
    else:
        Screen(sys.stdout).say(
            f"{found.tool}: {_ANSWERS[answer]}", style="yellow" if answer == "cannot_tell" else "green"
        )
    return ExitCode.UNKNOWN if answer == "cannot_tell" else ExitCode.SUCCEEDED


@command.command("resolve")
@_key_options
@click.option("--happened", is_flag=True, help="It happened, as somebody found out by looking.")
@click.option("--absent", is_flag=True, help="It did not happen, as somebody found out by looking.")
@click.option("--call", metavar="ID", help="The call that was looked at, where several were made under the key.")
@click.option("--note", default="", help="How it was found out; recorded.")
@click.option("--output", metavar="JSON", help="With --happened: what the call is to answer from now on.")
@by_option
@place_options
@json_option
@click.pass_obj
def resolve(place: Place, /, **options: Any) -> ExitCode:
    """Say whether it happened, after looking. --absent frees the key, so be sure."""
    happened, by = options["happened"], person(options["by"])
    exclude(happened=happened, absent=options["absent"])
    if not happened and not options["absent"]:
        wrong("say what you found: --happened or --absent")
    output = None if options["output"] is None else read_value(options["output"], what="--output")
    if output is not None and not happened:
        wrong("--output goes with --happened: what did not happen gave nothing back")

    async def work(gate: Callgate) -> Outcome:
        found = await _find(gate, options)
        return await gate.resolve(
            found.key.key,
            _context(found),
            happened=happened,
            by=by,
            call_id=_looked_at(found, options),
            note=options["note"],
            output=output,
            assurance=Assurance.LOCAL,
        )

    outcome = run(place, work, need=Need.EXISTING)
    show_outcome(outcome, place, as_json=options["as_json"])
    return ExitCode.SUCCEEDED


def _looked_at(found: Attempt, options: dict[str, Any]) -> str | None:
    """The call that is meant, where one was named: with --call, or in place of its key."""
    named: str | None = options["call"]
    return named or (None if options["key"] in found.key.key else found.call_id)


def _need_tool(gate: Callgate, name: str) -> None:
    try:
        gate.tool(name)
    except ToolNotFoundError as error:
        wrong(f"{error}; name the module it is in with --module NAME")


async def _find(gate: Callgate, options: dict[str, Any]) -> Attempt:
    """The one row that is meant.

    Raises:
        ConfigurationError: There is none, or several.
    """
    key, session, principal = options["key"], options["session"], options["principal"]
    found = await gate.attempts(key=key, principal=principal, session=session)
    if not found:
        rows = await gate.attempts(principal=principal, session=session)
        named = [(name, row) for row in rows for name in (row.call_id, row.key.key)]
        found = [row for row in [the_one(key, named, what="calls and keys")] if row is not None]
    if not found:
        wrong(f"the ledger has no key {key}" + (" there" if session or principal else ""))
    if len(found) > 1:
        owners = ", ".join(sorted(f"{row.key.principal} in session {row.key.session}" for row in found))
        wrong(f"several have used the key {key} ({owners}); say which with --session and --principal")
    return found[0]


def _context(attempt: Attempt) -> Context:
    return Context(principal=attempt.key.principal, session=attempt.key.session)
