"""The one JSON document that `--json` prints. Exact values; hidden characters are escaped, as JSON can."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable
from typing import Any

import click

from callgate.cli.streams import put
from callgate.model.shapes import as_mapping, as_sequence
from callgate.model.visible import visible

_ASKED = "callgate.json"
_HELP = "Print one JSON document; everything else goes to stderr."


def json_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add `--json` to a command, which gets it as `as_json`, also when it stood before the command."""
    return click.option("--json", "as_json", is_flag=True, help=_HELP, callback=_asked)(command)


def json_option_of_all(root: Callable[..., Any]) -> Callable[..., Any]:
    """Add `--json` to the root of all commands, which remembers it for the one that follows."""
    return click.option("--json", is_flag=True, help=_HELP, expose_value=False, callback=_remember)(root)


def json_wanted(ctx: click.Context) -> bool:
    """Whether `--json` stood before the command, for a command that has no such option of its own."""
    return bool(ctx.meta.get(_ASKED))


def refuse_json(command: str) -> None:
    """For a command that has no document to print.

    Raises:
        click.UsageError: One was asked for.
    """
    ctx = click.get_current_context()
    if ctx.meta.get(_ASKED):
        raise click.UsageError(f"{command} tells a story and prints no JSON; leave --json out", ctx=ctx)


def _asked(ctx: click.Context, _param: click.Parameter, value: bool) -> bool:  # noqa: FBT001 - click's signature
    return value or bool(ctx.meta.get(_ASKED))


def _remember(ctx: click.Context, _param: click.Parameter, value: bool) -> None:  # noqa: FBT001 - click's signature
    # All contexts below share this; a command without the option never looks.
    ctx.meta[_ASKED] = value


def print_document(body: Any, *, indented: bool | None = None) -> None:
    """Write a value as JSON on stdout; unless told, indented for a person and on one line for a program."""
    for_person = sys.stdout.isatty() if indented is None else indented
    text = json.dumps(_plain(body), ensure_ascii=False, indent=2 if for_person else None)
    put(sys.stdout, escaped(text) + "\n")


def escaped(text: str) -> str:
    """JSON text whose hidden characters are written as escapes; it reads as the same value."""
    if visible(text) == text:
        return text
    return "".join(character if visible(character) == character else _escape(character) for character in text)


def _escape(character: str) -> str:
    # json.dumps knows how to spell characters beyond the basic plane.
    return json.dumps(character)[1:-1]


def _plain(value: Any) -> Any:
    """What JSON can hold of a value; the rest as text."""
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    mapping, items = as_mapping(value), as_sequence(value)
    if mapping is not None:
        return {str(name): _plain(item) for name, item in mapping.items()}
    return str(value) if items is None else [_plain(item) for item in items]
