"""By which names tools travel over MCP: one table for all, and a source's own names at its own endpoint."""

from __future__ import annotations

from typing import TYPE_CHECKING

from callgate.formats.names import wire_names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from callgate.model.tool import Tool
    from callgate.runtime.gate import Callgate


class Names:
    """The names of a gate's tools, worked out again when other tools are registered.

    Args:
        gate: Whose tools.
    """

    def __init__(self, gate: Callgate) -> None:
        self._gate = gate
        self._tables: dict[str | None, dict[str, Tool]] = {}
        self.forget: Callable[[], None] = gate.on_tools(self._changed)
        """Ends listening to the gate."""

    def find(self, wire: str, source: str | None) -> Tool | None:
        """The tool that travels under this name, whoever may call it."""
        return self._table(source).get(wire)

    def shown(self, tools: Iterable[Tool], source: str | None) -> list[tuple[str, Tool]]:
        """Those of the tools that are shown at this endpoint, each with its name there."""
        wires = {tool.name: wire for wire, tool in self._table(source).items()}
        return [(wires[tool.name], tool) for tool in tools if tool.name in wires]

    def _changed(self) -> None:
        self._tables = {}

    def _table(self, source: str | None) -> dict[str, Tool]:
        table = self._tables.get(source)
        if table is None:
            tables, tools = self._tables, self._gate.tools()
            table = _all(tools) if source is None else _one(tools, source)
            if table or source is None:  # An address that is none must not fill the memory.
                tables[source] = table
        return table


def source_of(tool: Tool) -> str:
    """What its endpoint is called: the name of its source, or the kind of it where it has none."""
    return tool.source_name or tool.source.value


def unknown(wire: str, source: str | None) -> str:
    """What is asked of the gate where nothing travels under this name here, so that its answer is recorded."""
    # At a source's own endpoint the name of another's tool must lead nowhere.
    return wire if source is None else f"{source}/{wire}"


def _all(tools: Iterable[Tool]) -> dict[str, Tool]:
    named = {tool.name: tool for tool in tools}
    return {wire: named[own] for own, wire in wire_names(named).items()}


def _one(tools: Iterable[Tool], source: str) -> dict[str, Tool]:
    """Names as the source itself says them: its own, else without the prefix that all of its tools share."""
    own = [tool for tool in tools if source_of(tool) == source]
    named = {tool.foreign_name: tool for tool in own if tool.foreign_name}
    rest = [tool for tool in own if not tool.foreign_name]
    prefixes = {tool.name.partition(".")[0] for tool in rest if "." in tool.name}
    bare = len(prefixes) == 1 and all("." in tool.name for tool in rest)
    short = {tool.name.partition(".")[2] if bare else tool.name: tool for tool in rest}
    return {wire: short[said] for said, wire in wire_names(short).items()} | named
