"""Who sits here: the person who decides or calls, by name. A name from the system, or one that was given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from callgate.cli.trouble import wrong
from callgate.runtime.terminal import system_user


def by_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add `--by` to a command, which gets it as `by`."""
    return click.option("--by", metavar="NAME", help="Who decides; your user name when left out.")(command)


def person(given: str | None) -> str:
    """The name that was given, else the system's for this user.

    Raises:
        ConfigurationError: The name is empty.
    """
    if given is not None:
        return given.strip() or wrong("--by names nobody; leave it out for your user name")
    return system_user()
