"""Which events are meant: the filters that commands over the record share, and times as people type them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime
from typing import Any

import click

from callgate.settings.durations import parse_duration

_NAMES = ("types", "trace_id", "call_id", "since", "until")


def parse_moment(text: str) -> float:
    """Seconds since the epoch, from a date, a date and time, or how long ago.

    Raises:
        click.BadParameter: It is none of these.
    """
    with suppress(ValueError):
        return time.time() - parse_duration(text)
    try:
        return datetime.fromisoformat(text).astimezone().timestamp()
    except (ValueError, OverflowError, OSError):
        advice = "write 2026-08-22, 2026-08-22T14:30, or 7d, 2h, 30m for so long ago"
        raise click.BadParameter(f"{text!r} is no time; {advice}") from None


def filter_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the filters; `chosen` reads them."""
    options = (
        click.option("--type", "types", multiple=True, metavar="NAME", help="Events of this type or glob. Repeatable."),
        click.option("--trace", "trace_id", metavar="ID", help="Events of this trace."),
        click.option("--call", "call_id", metavar="ID", help="Events of this call."),
        click.option(
            "--since",
            type=parse_moment,
            metavar="TIME",
            help="Not before: 2026-08-22, 2026-08-22T14:30, or 7d for so long ago.",
        ),
        click.option("--until", type=parse_moment, metavar="TIME", help="Before."),
    )
    for option in reversed(options):
        command = option(command)
    return command


def chosen(options: Mapping[str, Any]) -> dict[str, Any]:
    """The filters that were given."""
    return {name: options[name] for name in _NAMES if options[name] not in (None, ())}
