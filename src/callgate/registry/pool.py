"""Pool: the tools for one model turn, in an order that never depends on how they came, so that prompts stay cached.

Knows nothing of policy: it is told which tools are admitted.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, overload

from callgate.model.canonical import dumps
from callgate.model.levels import Origin
from callgate.model.tool import Tool
from callgate.registry.snapshot import not_found


class Pool(Sequence[Tool]):
    """Tools in their final order. Immutable; made by `assemble`."""

    __slots__ = ("_by_name", "_digest", "_tools")

    def __init__(self, tools: Iterable[Tool] = ()) -> None:
        self._tools = tuple(tools)
        self._by_name = {tool.name: tool for tool in self._tools}
        self._digest: str | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The names, in order."""
        return tuple(self._by_name)

    @property
    def digest(self) -> str:
        """A hash that is the same for the same definitions in the same order, here and in another process."""
        if self._digest is None:
            self._digest = hashlib.sha256(dumps([tool.definition_hash for tool in self._tools])).hexdigest()
        return self._digest

    def find(self, name: str) -> Tool | None:
        """The tool of that name, or None."""
        return self._by_name.get(name)

    def get(self, name: str) -> Tool:
        """The tool of that name.

        Raises:
            ToolNotFoundError: It is not in this pool; near matches are looked for in this pool only, so a model learns
                nothing of others.
        """
        tool = self._by_name.get(name)
        if tool is None:
            raise not_found(name, self._by_name)
        return tool

    def describe(self) -> list[dict[str, Any]]:
        """An entry for each tool, as `describe` makes it."""
        return [describe(tool) for tool in self._tools]

    @overload
    def __getitem__(self, index: int) -> Tool: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Tool, ...]: ...
    def __getitem__(self, index: int | slice) -> Tool | tuple[Tool, ...]:
        return self._tools[index]

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._tools)

    def __len__(self) -> int:
        return len(self._tools)


def assemble(tools: Iterable[Tool], *, admits: Callable[[Tool], bool]) -> Pool:
    """The pool of the tools that are admitted: built-ins by name, then the others by name.

    A name that occurs twice is there once, as the built-in, else as the one whose source and definition sort first.
    Left out besides are tools that declared nothing and tools that cannot be run here whatever happens.
    """
    chosen: dict[str, Tool] = {}
    for tool in tools:
        if _runnable(tool) and admits(tool):
            other = chosen.get(tool.name)
            chosen[tool.name] = tool if other is None else min(other, tool, key=_rank)
    return Pool(sorted(chosen.values(), key=_order))


def describe(tool: Tool) -> dict[str, Any]:
    """One tool for a listing; side effects and destructive only where they apply."""
    entry: dict[str, Any] = {
        "name": tool.name,
        "description": tool.description,
        "category": tool.category,
        "parameters": tool.input_schema,
        "mcp_backed": tool.source is Origin.MCP,
    }
    if tool.effects:
        entry["side_effects"] = sorted(effect.value for effect in tool.effects)
    if tool.destructive:
        entry["destructive"] = True
    return entry


def _runnable(tool: Tool) -> bool:
    hosted = tool.handler is None or tool.source is Origin.HOST
    return tool.declared and not hosted and tool.unavailable is None


def _order(tool: Tool) -> tuple[bool, str]:
    return tool.source is not Origin.BUILTIN, tool.name


def _rank(tool: Tool) -> tuple[bool, str, str, str, str]:
    return *_order(tool), tool.source.value, tool.source_name, tool.definition_hash
