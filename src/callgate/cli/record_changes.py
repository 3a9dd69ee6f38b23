"""The commands of `callgate audit` that write: a file of events, what is worked out from them, and forgetting."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any, BinaryIO

import click

from callgate.cli.document import json_option, print_document
from callgate.cli.filters import chosen, filter_options
from callgate.cli.ids import whole
from callgate.cli.opening import Need, run, stdin_is_terminal
from callgate.cli.person import by_option, person
from callgate.cli.place import Place, place_options
from callgate.cli.screen import Screen
from callgate.cli.streams import answering, put
from callgate.cli.trouble import wrong
from callgate.model.counted import counted
from callgate.runtime.gate import Callgate

_why_option = click.option("--why", required=True, help="The reason; recorded.")
_confirmed_option = click.option(
    "--confirmed", is_flag=True, help="Do not ask again. Needed where nobody can be asked."
)


@click.command("export")
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True))
@filter_options
@place_options
@json_option
@click.pass_obj
def export(place: Place, /, **options: Any) -> None:
    """Write events as JSON lines to FILE, or to stdout with -; an existing file is left alone."""
    file: Path = options["file"]
    to_stdout = str(file) == "-"
    if to_stdout and options["as_json"]:
        wrong("with - the events themselves are on stdout; leave --json out")
    with tempfile.TemporaryFile() if to_stdout else _new_file(file) as out:
        count = run(place, lambda gate: _export(gate, out, options=options), need=Need.LOOK)
        if to_stdout:
            _copy_to_stdout(out)
            return
    if options["as_json"]:
        print_document({"file": str(file), "events": count})
    else:
        Screen(sys.stdout).say(f"{count} events are in {file}", style="green")


@click.command("rebuild")
@place_options
@json_option
@click.pass_obj
def rebuild(place: Place, /, *, as_json: bool) -> None:
    """Make the lists that are worked out from the events (calls, usage and others) again."""
    names = run(place, lambda gate: gate.rebuild(), need=Need.EXISTING)
    if as_json:
        print_document({"rebuilt": list(names)})
    else:
        Screen(sys.stdout).say(f"made again: {', '.join(names)}", style="green")


@click.command("erase")
@filter_options
@_why_option
@_confirmed_option
@by_option
@place_options
@json_option
@click.pass_obj
def erase(place: Place, /, **options: Any) -> None:
    """Forget the content of events, for good. At least one filter must say which.

    The chain still verifies, and who erased what and why is recorded. Sealed arguments, the ledger's outcomes and the
    texts of approvals are not touched.
    """
    filters, name = chosen(options), person(options["by"])
    if not filters:
        wrong("say which events: --call, --trace, --type, --since or --until")
    if not options["why"].strip():
        wrong("--why is empty; an erasure needs its reason")
    _someone_to_ask(confirmed=options["confirmed"])

    async def chosen_now(gate: Callgate) -> dict[str, Any]:
        meant = await whole(gate, filters)
        events, calls = await gate.erasable(**meant)
        if not events:
            wrong(f"no event fits that has content to erase; see what there is: {place.command('audit', 'list')}")
        if not options["confirmed"]:
            what = f"The content of {counted(events, 'event')} of {counted(calls, 'call')} will be gone."
            _confirm("erase", what, otherwise="nothing was erased")
        return meant

    meant = run(place, chosen_now, need=Need.LOOK)
    count = run(place, lambda gate: gate.erase(by=name, why=options["why"], **meant), need=Need.EXISTING)
    if options["as_json"]:
        print_document({"erased": count})
    else:
        Screen(sys.stdout).say(f"erased: the content of {count} events", style="green")


@click.command("accept-restore")
@_why_option
@_confirmed_option
@by_option
@place_options
@json_option
@click.pass_obj
def accept_restore(place: Place, /, **options: Any) -> None:
    """Say that this copy, or restored backup, is the store from now on.

    What was recorded after the copy was made is not in it: calls that ran since then are not known to have run. Who
    accepted it and why is recorded, and `audit verify` tells of it from then on.
    """
    name = person(options["by"])
    if not options["why"].strip():
        wrong("--why is empty; taking a copy for the store needs its reason")
    _someone_to_ask(confirmed=options["confirmed"])
    if not options["confirmed"]:
        _confirm("accept", "Calls that ran after this copy was made may run again.", otherwise="nothing was accepted")

    async def work(gate: Callgate) -> None:
        await gate.accept_restore(by=name, why=options["why"])

    run(place, work, need=Need.LOOK)
    if options["as_json"]:
        print_document({"accepted": True, "by": name})
    else:
        Screen(sys.stdout).say("accepted: this is the store from now on; that you said so is recorded", style="green")


async def _export(gate: Callgate, out: BinaryIO, *, options: dict[str, Any]) -> int:
    return await gate.export_events(out, **await whole(gate, chosen(options)))


def _someone_to_ask(*, confirmed: bool) -> None:
    if not confirmed and not stdin_is_terminal():
        wrong("this cannot be undone, and nobody can be asked here; say --confirmed")


def _confirm(word: str, warning: str, *, otherwise: str) -> None:
    question = f"{warning} This cannot be undone. Type {word} to go on"
    if click.prompt(question, err=True, default="", show_default=False) != word:
        wrong(otherwise)


def _new_file(path: Path) -> BinaryIO:
    try:
        return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")
    except FileExistsError:
        wrong(f"{path} is there already, and is left as it is; name another file")
    except OSError as error:
        wrong(f"{path} cannot be written: {error.strerror}")


def _copy_to_stdout(content: Any) -> None:
    content.seek(0)
    put(sys.stdout)
    with answering(sys.stdout):
        shutil.copyfileobj(content, sys.stdout.buffer)
        sys.stdout.buffer.flush()
