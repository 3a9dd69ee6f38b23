"""`callgate watch`: what happens at this place, as it happens, in every process that works there."""

from __future__ import annotations

from typing import Any

import click

from callgate.cli.document import json_option
from callgate.cli.event_text import TOLD
from callgate.cli.filters import chosen, filter_options
from callgate.cli.following import follow_events
from callgate.cli.newest import SO_MANY
from callgate.cli.place import Place, place_options


@click.command("watch")
@filter_options
@click.option("--limit", type=SO_MANY, default=10, show_default=True, help="Begin with so many of the past.")
@click.option("--all", "everything", is_flag=True, help="Also openings, checkpoints and registrations of tools.")
@place_options
@json_option
@click.pass_obj
def command(place: Place, /, **options: Any) -> None:
    """Show events as they come, until Ctrl-C; with --json each is one document on a line of its own."""
    filters = {} if options["everything"] else {"types": TOLD}
    follow_events(place, filters | chosen(options), options=options)
