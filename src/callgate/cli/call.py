"""`callgate call`: one call through the gate. A person at the terminal is asked; nothing here can answer for them."""

from __future__ import annotations

from typing import Any

import click

from callgate.cli.document import json_option
from callgate.cli.exit_codes import ExitCode
from callgate.cli.json_arguments import read_object
from callgate.cli.opening import Need, run, stdin_is_terminal
from callgate.cli.outcome_text import show_outcome
from callgate.cli.place import Place, place_options
from callgate.cli.question import terminal_asker
from callgate.cli.trouble import wrong
from callgate.model.context import Context
from callgate.model.outcome import Outcome
from callgate.runtime.gate import Callgate
from callgate.runtime.terminal import system_user

SECONDS = click.FloatRange(min=0, min_open=True)


@click.command("call")
@click.argument("name")
@click.argument("arguments", default="{}")
@click.option("--role", default="default", help="The role it is called in.")
@click.option("--autonomy", type=click.Choice(["A0", "A1", "A2", "A3", "A4"], case_sensitive=False))
@click.option("--key", help="The idempotency key: one key, one effect.")
@click.option("--session", default="default", help="The conversation or run the key belongs to.")
@click.option("--principal", default="agent", help="The agent that acts.")
@click.option("--user", help="For whom it acts; your user name when left out.")
@click.option("--wait", type=SECONDS, help="Seconds to wait for somebody else's decision, instead of asking here.")
@click.option("--timeout", type=SECONDS, help="Seconds the tool may take.")
@click.option(
    "--distinct", is_flag=True, help="A new effect on purpose, although an equal call has an unknown outcome."
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
    context = _context(options)

    async def work(gate: Callgate) -> Outcome:
        if not gate.tools():
            wrong("no tools are known here: name a module with --module NAME, or `modules:` in callgate.yaml")
        return await gate.call(
            options["name"], arguments, context, **{name: options[name] for name in ("wait", "timeout", "distinct")}
        )

    ask = terminal_asker() if options["wait"] is None and stdin_is_terminal() else None
    outcome = run(place, work, need=Need.MAKE, ask=ask, context=context)
    return show_outcome(outcome, place, as_json=options["as_json"])


def _context(options: dict[str, Any]) -> Context:
    return Context(
        principal=options["principal"],
        user=options["user"] or system_user(),
        session=options["session"],
        role=options["role"],
        autonomy=options["autonomy"],
        idempotency_key=options["key"],
    )
