"""Callgate's own MCP server at a host: its calls are judged there. One that only looks like it is not taken for it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from callgate.errors import ConfigurationError
from callgate.runtime.host_entries import words_of
from callgate.runtime.host_files import host_files, parse, read_raw, servers_of
from callgate.runtime.own_program import OWN, is_this_server

_PLAIN = re.compile(r"[^A-Za-z0-9_-]")


def is_of_own_server(host: str, named: str, *, joints: tuple[str, ...], root: str | None) -> bool:
    """Whether a tool is of Callgate's own server, by the host's files; what they do not say is somebody else's.

    Args:
        host: The host's name.
        named: Server and tool, as the host puts them together.
        joints: What it puts between them.
        root: The folder that the conversation is about.
    """
    if not named.startswith(tuple(f"{OWN}{joint}" for joint in joints)):
        return False
    folder = Path(root) if root else Path.cwd()
    try:
        among = [(name, entry) for name, entry in _servers(host, folder) if _may_be(name, named, joints=joints)]
    except ConfigurationError:
        return False
    # Two servers may give one name: then it could be either's.
    return bool(among) and all(
        name == OWN and is_this_server(entry, words_of(entry), folder=folder) for name, entry in among
    )


def _servers(host: str, folder: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    for file in host_files(folder):
        if file.host != host or file.kind != "mcp":
            continue
        raw = read_raw(file.path)
        if raw is not None:
            yield from servers_of(parse(raw, file.path), file, folder=folder).items()


def _may_be(name: str, named: str, *, joints: tuple[str, ...]) -> bool:
    return named.casefold().startswith(tuple(f"{_PLAIN.sub('_', name)}{joint}".casefold() for joint in joints))
