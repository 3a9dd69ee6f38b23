"""Accepting: the file of accepted declarations, as it is in force, and written anew when a person accepts more."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING

from callgate.adapters.overlay import lay_over
from callgate.errors import ConfigurationError
from callgate.model.levels import FOREIGN
from callgate.policy.own_files import STORE_FOLDER
from callgate.settings.accepted import AcceptedDeclaration, AcceptedDeclarations, ToolOfSource
from callgate.settings.load_accepted import ACCEPTED_FILE, load_accepted, parse_accepted

if TYPE_CHECKING:
    from callgate.model.tool import Tool
    from callgate.registry.proposals import Proposal
    from callgate.settings.values import Settings


def accepted_file(settings: Settings, working_directory: Path) -> Path:
    """Where accepted declarations are kept: beside the configuration, else in the working directory."""
    return settings.folder(working_directory) / ACCEPTED_FILE


class Acceptance:
    """What people accepted that foreign tools declare."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self._said = AcceptedDeclarations()

    def read(self) -> None:
        """Read the file; what it says is in force from now on, for tools that are added or loaded.

        Raises:
            ConfigurationError: It is wrong, with every complaint; what was in force stays so.
        """
        self._said = load_accepted(self.file)

    def lay_over(self, tools: Iterable[Tool]) -> list[Tool]:
        """The tools, the foreign ones under what was accepted for exactly their definition."""
        return [self._laid_over(tool) if tool.source in FOREIGN else tool for tool in tools]

    def write(self, proposals: Iterable[Proposal], *, by: str) -> None:
        """Add these to the file, in place of earlier ones: the whole of it, or nothing.

        Raises:
            ConfigurationError: The file that is there is wrong, or cannot be written.
        """
        self.read()
        said = self._said
        for proposal in proposals:
            entry = AcceptedDeclaration(hash=proposal.definition_hash, fields=proposal.fields, by=by)
            said = said.with_entry(ToolOfSource(proposal.source, proposal.source_name, proposal.tool), entry)
        text = said.to_text()
        # Read as it will be read the next time, before it takes the place of what is there.
        said = parse_accepted(text, file=str(self.file))
        _replace(self.file, text)
        self._said = said

    def _laid_over(self, tool: Tool) -> Tool:
        entry = self._entry(tool)
        if entry is None:
            return tool.as_given
        return lay_over(tool, entry.fields, definition_hash=entry.hash)

    def _entry(self, tool: Tool) -> AcceptedDeclaration | None:
        return self._said.find(ToolOfSource(tool.source.value, tool.source_name, tool.name))


def written_in(file: Path) -> Path:
    """The folder in which it is written before it takes its place: Callgate's own."""
    return file.parent / STORE_FOLDER


def _replace(file: Path, text: str) -> None:
    """Write it elsewhere, then put it in its place: a reader sees the old file or the new one."""
    beside = written_in(file) / f"{file.name}.{token_hex(4)}"
    try:
        beside.parent.mkdir(parents=True, exist_ok=True)
        with beside.open("x", encoding="utf-8", newline="\n") as out:
            out.write(text)
            out.flush()
            os.fsync(out.fileno())
        beside.replace(file)
        with suppress(OSError):
            beside.parent.rmdir()
    except OSError as error:
        with suppress(OSError):
            beside.unlink()
        raise ConfigurationError(
            f"cannot be written: {os.strerror(error.errno or 0).lower()}", file=str(file)
        ) from None
