"""Commands we propose: ready to be copied, and never folded."""

from __future__ import annotations

from callgate.cli.place import Place
from callgate.cli.screen import Cell

Proposals = list[tuple[str, str | Cell]]
"""What can be done, and the command that does it."""


def proposed(place: Place, *words: str, tools: bool = False) -> Cell:
    """A command for the same place; with `tools`, one that needs the tools of its modules."""
    return Cell(place.command(*words, tools=tools), whole=True)
