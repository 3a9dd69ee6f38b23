"""The newest of a long list: how many a person asked for, in the order they came, and a word where there are more."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TypeVar

import click

from callgate.cli.screen import Screen

T = TypeVar("T")

SO_MANY = click.IntRange(min=1, max=1_000_000_000)
"""How many somebody may ask for: more than anybody reads, and no more than a store counts."""


def limit_option(most: int) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add `--limit` to a command that lists, which gets it as `limit`."""
    text = "At most so many, the newest."
    return click.option("--limit", type=SO_MANY, default=most, show_default=True, help=text)


def newest(found: list[T], limit: int, *, tell: bool = True) -> list[T]:
    """What was read newest first, one more than asked for, as it is listed: oldest first.

    Args:
        found: At most `limit + 1`, so that it is known whether there are more.
        limit: How many are listed.
        tell: Whether to say that there are more; it goes to stderr.
    """
    if tell and len(found) > limit:
        Screen(sys.stderr).say(f"these are the newest {limit}; there are older ones, see --limit")
    return found[:limit][::-1]
