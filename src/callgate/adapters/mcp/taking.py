"""Taking what a server lists: each tool by itself, so that a bad one harms no other, and none shadows another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from callgate.adapters.mcp.foreign_tool import Home, definition_digest, make_tool, tool_name
from callgate.errors import ConfigurationError
from callgate.model.source import Failure, Loaded
from callgate.model.tool import Tool
from callgate.model.visible import brief

if TYPE_CHECKING:
    from mcp_types import Tool as Listed

_GLOB = frozenset("*?[")
_NO_TOOLS = frozenset(
    {"resources/read", "prompts/get", "completion/complete", "sampling/createMessage", "elicitation/create"}
)
"""Declared like tools, and something else: methods of the protocol."""


class Taken(NamedTuple):
    """What became of a list."""

    loaded: Loaded
    digests: Mapping[str, str]
    """The definition of each tool that was taken, by the server's own name."""


def take(listed: Sequence[Listed], home: Home) -> Taken:
    """Make tools of a server's list."""
    tools: list[Tool] = []
    failures: list[Failure] = []
    digests: dict[str, str] = {}
    names = Counter(_name(tool.name, home) for tool in listed)
    for tool in listed:
        try:
            _refuse_repeated(tool.name, names[_name(tool.name, home)])
            made, stricter = make_tool(tool, home)
        except ConfigurationError as error:
            failures.append(Failure(brief(tool.name), str(error)))
            continue
        tools.append(made)
        digests[tool.name] = definition_digest(tool)
        failures += [Failure(made.name, f"{text}; the stricter counts") for text in stricter]
    failures += _absent(home, {tool.name for tool in listed})
    return Taken(Loaded(tuple(tools), tuple(failures)), digests)


def _refuse_repeated(name: str, times: int) -> None:
    if times > 1:
        raise ConfigurationError(f"{brief(name)!r}: the server has several tools of that name, and none of them counts")


def _absent(home: Home, there: set[str]) -> Iterable[Failure]:
    exact = (name for name in home.declared if not _GLOB & set(name))
    for name in exact:
        if name not in there and name not in _NO_TOOLS:
            yield Failure(brief(name), f"it is declared, and the MCP server {home.name} has no such tool")


def _name(name: str, home: Home) -> str:
    """Two names that become one are one name, whichever the server meant."""
    try:
        return tool_name(name, home.prefix)
    except ConfigurationError:
        return name
