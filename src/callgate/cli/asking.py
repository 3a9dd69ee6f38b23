"""Who asks: the options that make the context of a call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import click

from callgate.cli.autonomy import autonomy_option
from callgate.cli.trouble import wrong
from callgate.model.context import Context
from callgate.runtime.terminal import system_user


def asker_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say who asks and under which limits; `asker_context` reads them."""
    options = (
        click.option("--role", default="default", show_default=True, help="The role it is called in."),
        autonomy_option,
        click.option("--key", metavar="KEY", help="The idempotency key: one key, one effect."),
        click.option("--session", default="default", show_default=True, help="The run that keys belong to."),
        click.option("--principal", default="agent", show_default=True, help="The agent that acts."),
        click.option("--user", metavar="NAME", help="For whom it acts; your user name when left out."),
    )
    for option in reversed(options):
        command = option(command)
    return command


def asker_context(options: Mapping[str, Any]) -> Context:
    """The context that was asked for.

    Raises:
        ConfigurationError: A name is empty, or cannot be one.
    """
    more = {"role": options["role"], "autonomy": options["autonomy"], "idempotency_key": options["key"]}
    return context_of(options, **more)


def context_of(options: Mapping[str, Any], **more: Any) -> Context:
    """The context of whom the options name, and of what else is given.

    Raises:
        ConfigurationError: A name is empty, or cannot be one.
    """
    for name in ("role", "key", "session", "principal", "user", "trace"):
        given = options.get(name)
        if given is not None and not given.strip():
            wrong(f"--{name} is empty; leave it out or name one")
    try:
        return Context(
            principal=options["principal"],
            user=options["user"] or system_user(),
            session=options["session"],
            **more,
        )
    except ValueError as error:
        wrong(f"who asks cannot be called so: {error}")
