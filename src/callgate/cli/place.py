"""Where a command works: which store, which configuration, which modules. From options or the environment."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import click
from click.core import ParameterSource


@dataclass(slots=True)
class Place:
    """What was said about where to work; what was not said is None."""

    store: str | None = None
    config: str | None = None
    modules: tuple[str, ...] = ()
    typed: tuple[tuple[str, str], ...] = ()
    """The options as they were typed, to be repeated in commands we propose."""

    def command(self, *words: str, tools: bool = False) -> str:
        """A command for the same place, ready to be copied; with its modules where it needs the tools."""
        kept = [pair for pair in self.typed if tools or pair[0] != "--module"]
        return shlex.join(["callgate", *words, *(word for pair in kept for word in pair)])

    def command_elsewhere(self, *words: str) -> str:
        """As `command`, for another shell of this folder: it need not have what our environment said."""
        said = (("--store", self.store), ("--config", self.config))
        return shlex.join(["callgate", *words, *(word for name, it in said if it is not None for word in (name, it))])

    def show(self, approval_id: str) -> str:
        """The command that shows a question to somebody at another terminal."""
        return self.command_elsewhere("approvals", "show", approval_id)


def place_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add --store, --config and --module; the command reaches them as its context's object, a `Place`."""
    options = (
        click.option(
            "--store",
            metavar="URL",
            envvar="CALLGATE_STORE",
            help="sqlite:///FILE, a file, or memory:// [env: CALLGATE_STORE]",
            **_REMEMBERED,
        ),
        click.option(
            "--config",
            metavar="FILE",
            envvar="CALLGATE_CONFIG",
            help="The configuration; ./callgate.yaml if it is there. [env: CALLGATE_CONFIG]",
            **_REMEMBERED,
        ),
        click.option(
            "--module",
            "modules",
            metavar="NAME",
            multiple=True,
            help="A Python module or file; every @tool in it. Repeatable.",
            **_REMEMBERED,
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


def _remember(ctx: click.Context, param: click.Parameter, value: Any) -> None:  # noqa: PLR0917 - click's signature
    place = ctx.ensure_object(Place)
    if value is None or value == () or ctx.resilient_parsing:
        return
    name = param.name or ""
    if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE:
        given = value if param.multiple else (value,)
        place.typed += tuple((param.opts[0], item) for item in given)
    elif getattr(place, name):
        return  # The environment gives way to what was typed before the command.
    setattr(place, name, (*place.modules, *value) if param.multiple else value)


_REMEMBERED: dict[str, Any] = {"expose_value": False, "callback": _remember}
