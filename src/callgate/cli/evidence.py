"""`callgate evidence`: the record in one file, and whether such a file is what was recorded, without its store."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from callgate.cli.document import json_option, print_document
from callgate.cli.exit_codes import ExitCode
from callgate.cli.filters import chosen, filter_options
from callgate.cli.ids import whole
from callgate.cli.opening import Need, run
from callgate.cli.place import Place, place_options
from callgate.cli.report_text import code_of_report, show_report
from callgate.cli.screen import Screen
from callgate.cli.trouble import wrong
from callgate.runtime.gate import Callgate
from callgate.runtime.offline import check_evidence

_FINGERPRINT = re.compile(r"[0-9a-f]{4}(:[0-9a-f]{4}){7}")


@click.group("evidence")
def command() -> None:
    """The record in one file that verifies on another machine: export, verify."""


@command.command("export")
@click.argument("file", type=click.Path(path_type=Path))
@filter_options
@place_options
@json_option
@click.pass_obj
def export(place: Place, /, **options: Any) -> None:
    """Pack the record, or the part that the filters choose, into FILE: .zip, .tar, or else a folder."""
    file: Path = options["file"]

    async def work(gate: Callgate) -> dict[str, Any]:
        meant = await whole(gate, chosen(options))
        if meant and not await gate.newest_events(1, **meant):
            wrong(f"no event fits, so nothing was packed; see what there is: {place.command('audit', 'list')}")
        return await gate.export_evidence(file, **meant)

    manifest = run(place, work, need=Need.LOOK)
    if options["as_json"]:
        print_document({"file": str(file), "manifest": manifest})
        return
    screen = Screen(sys.stdout)
    screen.say(f"packed: {manifest['shown']} events are in {file}", style="green")
    screen.facts([("verify it with", f"callgate evidence verify {file}")], indent=2)


@command.command("verify")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--trust", "trusted", multiple=True, metavar="FINGERPRINT", help="A key you know; others do not count.")
@json_option
def verify(*, file: Path, trusted: tuple[str, ...], as_json: bool) -> ExitCode:
    """Check evidence without the store or its keys.

    The keys that signed it are in FILE itself: name with --trust the fingerprints that their owner published. Then
    what is not signed is not believed.
    """
    if not file.exists():
        wrong(f"there is no evidence at {file}")
    trusted = tuple(map(_fingerprint, trusted))
    # Whose keys count is known: what nobody signed with one of them counts for nothing.
    report = check_evidence(file, signed=bool(trusted), known=trusted)
    strangers = sorted(set(report.keys) - set(trusted)) if trusted else []
    if strangers:
        problems = tuple(f"it is signed with the key {key}, which you do not trust" for key in strangers)
        report = replace(report, ok=False, problems=(*report.problems, *problems))
    if as_json:
        print_document(report.to_json())
    else:
        show_report(Screen(sys.stdout), report, what=str(file))
    return code_of_report(ok=report.ok)


def _fingerprint(typed: str) -> str:
    if not _FINGERPRINT.fullmatch(typed.lower()):
        wrong(
            f"--trust {typed} is no fingerprint: it has eight groups of four hex digits, as `checked with` shows them"
        )
    return typed.lower()
