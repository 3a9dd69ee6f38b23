"""Groups of commands that are imported when they are used, so that asking for the version costs nothing."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click


class LazyGroup(click.Group):
    """A group that knows its commands by name and one line of help.

    Args:
        rooms: Name to (module, help); the module's `command` is the command.
    """

    def __init__(self, *args: Any, rooms: Mapping[str, tuple[str, str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._rooms = rooms

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands in the order in which they are told."""
        del ctx
        return list(self._rooms)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command, imported now."""
        del ctx
        room = self._rooms.get(cmd_name)
        return None if room is None else import_module(room[0]).command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands, without importing them."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in self._rooms.items()])
