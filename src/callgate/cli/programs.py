"""`callgate programs`: Python that models write, run over the tools, asleep in the store while a person thinks."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from callgate.cli.asking import asker_context, asker_options
from callgate.cli.document import json_option, print_document
from callgate.cli.exit_codes import ExitCode
from callgate.cli.ids import is_made, the_one
from callgate.cli.json_arguments import read_bytes, read_object
from callgate.cli.newest import limit_option, newest
from callgate.cli.opening import Need, Tools, run, settings_of, stdin_is_terminal
from callgate.cli.place import Place, place_options
from callgate.cli.program_text import Told, entry_document, show_program, show_programs
from callgate.cli.proposal import questions
from callgate.cli.question import terminal_asker
from callgate.cli.screen import Screen
from callgate.cli.trouble import wrong
from callgate.model.program import ProgramEntry, ProgramRun, ProgramState
from callgate.runtime.gate import Callgate

_SECONDS = click.FloatRange(min=0, min_open=True)
_CODES = {
    ProgramState.FINISHED: ExitCode.SUCCEEDED,
    ProgramState.FAILED: ExitCode.FAILED,
    ProgramState.SLEEPING: ExitCode.PENDING,
    ProgramState.PROPOSED: ExitCode.PENDING,
}


@click.group("programs")
def command() -> None:
    """Programs over your tools: run, list, show, resume."""


@command.command("run")
@click.argument("file")
@click.option("--inputs", default="{}", help="Names the program begins with: one JSON object, @FILE, or -.")
@click.option("--dry-run", is_flag=True, help="Make only its reads, and list its effects to be approved at once.")
@asker_options
@click.option("--wait", type=_SECONDS, help="Seconds to wait for somebody else's decision, instead of asking here.")
@place_options
@json_option
@click.pass_obj
def run_program(place: Place, /, **options: Any) -> ExitCode:
    """Run the program in FILE, or - for stdin.

    Its functions are the tools that may be called in flows: read-only ones, and those declared with `allowed_callers`.
    Where a person has to decide, you are asked if you sit at the terminal; otherwise the program sleeps, and its id and
    the commands that decide and resume it are printed. --key names the program: the same one again goes on with it.
    """
    source, inputs = _source(options["file"]), read_object(options["inputs"], what="--inputs")
    context = asker_context(options)

    async def work(gate: Callgate) -> Told:
        try:
            found = await gate.run_program(
                source,
                context,
                inputs=inputs,
                wait=options["wait"],
                program_id=options["key"],
                dry_run=options["dry_run"],
            )
        except ValueError as error:
            wrong(str(error))
        return await _told(gate, found)

    ask = terminal_asker() if options["wait"] is None and stdin_is_terminal() else None
    try:
        told = run(place, work, need=Need.MAKE, tools=Tools.NEEDED, ask=ask, context=context)
    except KeyboardInterrupt as error:
        raise type(error)(_left(place)) from None
    return _tell(place, told, as_json=options["as_json"])


@command.command("list")
@limit_option(100)
@place_options
@json_option
@click.pass_obj
def list_programs(place: Place, /, *, limit: int, as_json: bool) -> None:
    """List programs and where they stand, the newest first."""

    async def work(gate: Callgate) -> list[ProgramEntry]:
        return await gate.programs(limit=limit + 1)

    found = newest(run(place, work, need=Need.LOOK), limit)[::-1]
    if as_json:
        print_document({"programs": [entry_document(entry) for entry in found]})
    elif found:
        show_programs(Screen(sys.stdout), found)
    else:
        Screen(sys.stderr).say("there are no programs")


@command.command("show")
@click.argument("program_id", metavar="ID")
@click.option("--source", "whole", is_flag=True, help="Its text besides.")
@place_options
@json_option
@click.pass_obj
def show(place: Place, /, *, program_id: str, whole: bool, as_json: bool) -> None:
    """Show one program: how far it came, what it waits for, what it said."""

    async def work(gate: Callgate) -> tuple[Told, str | None]:
        name = await _program_of(gate, program_id)
        told = await _told(gate, await gate.find_program(name))
        return told, await gate.program_source(name) if whole else None

    told, source = run(place, work, need=Need.LOOK)
    if as_json:
        print_document(told.run.to_json() | ({} if source is None else {"source": source}))
        return
    show_program(Screen(sys.stdout), told, place=place, tools_known=_knows_tools(place))
    if source is not None:
        Screen(sys.stdout).say(source)


@command.command("resume")
@click.argument("program_id", metavar="ID")
@click.option("--wait", type=_SECONDS, help="Seconds to wait for a decision before it sleeps again.")
@place_options
@json_option
@click.pass_obj
def resume(place: Place, /, *, program_id: str, wait: float | None, as_json: bool) -> ExitCode:
    """Let a program go on that slept or was interrupted, as whoever started it.

    One whose dry run was listed is run in earnest, once somebody said yes where that is needed. Nobody is asked here:
    where a person has to decide, the program sleeps again.
    """

    async def work(gate: Callgate) -> Told:
        return await _told(gate, await gate.resume_program(await _program_of(gate, program_id), wait=wait))

    try:
        told = run(place, work, need=Need.EXISTING, tools=Tools.NEEDED)
    except KeyboardInterrupt as error:
        raise type(error)(_left(place)) from None
    return _tell(place, told, as_json=as_json)


def _left(place: Place) -> str:
    """What an interruption leaves."""
    return f"if the program had begun, it is among these, and can be resumed: {place.command('programs', 'list')}"


async def _told(gate: Callgate, found: ProgramRun) -> Told:
    return Told(found, await questions(gate, (each.approval_id for each in found.waiting)))


def _knows_tools(place: Place) -> bool:
    """Whether a command for this place finds the tools without being told where they are."""
    settings = settings_of(place)
    configured = settings.modules or settings.mcp_servers or settings.mcp_files or settings.plugins.folders
    return bool(place.modules or configured)


def _tell(place: Place, told: Told, *, as_json: bool) -> ExitCode:
    if as_json:
        print_document(told.run.to_json())
    else:
        show_program(Screen(sys.stdout), told, place=place)
    return _CODES.get(told.run.state, ExitCode.FAILED)


async def _program_of(gate: Callgate, typed: str) -> str:
    if is_made(typed):
        return typed
    known = await gate.programs(limit=10_000)
    return the_one(typed, ((entry.id, entry.id) for entry in known), what="programs") or typed


def _source(file: str) -> str:
    content = sys.stdin.buffer.read() if file == "-" else read_bytes(Path(file), what="FILE")
    try:
        return content.decode()
    except UnicodeDecodeError:
        wrong(f"{'stdin' if file == '-' else file}: a program is text in UTF-8")
