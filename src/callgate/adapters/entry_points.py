"""EntryPoints: tools that installed packages offer (group `callgate.tools`). Being installed is not being trusted."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection
from dataclasses import replace
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from callgate.adapters.convert import convert
from callgate.adapters.declare import declare
from callgate.adapters.told import told
from callgate.adapters.toolkits.opening import OpenToolkit, close_toolkit, make_tool, open_toolkit
from callgate.adapters.toolkits.toolkit import is_toolkit
from callgate.errors import ConfigurationError
from callgate.model.levels import Caller, Effect, Origin, Risk
from callgate.model.source import Failure, Loaded
from callgate.model.tool import Tool
from callgate.model.visible import brief
from callgate.ports import Desk

GROUP = "callgate.tools"
_log = logging.getLogger("callgate")


class EntryPoints:
    """The tools of installed packages, to be attached to a gate: `await gate.attach(EntryPoints(accept=["my-tools"]))`.

    An entry point names a function, a toolkit, a `BaseTool` class, a module with `@tool` functions, or a list of these.
    One that cannot be loaded is told by name and reason.

    Args:
        include: Names of entry points; all of the group when left out. Others are not even imported.
        accept: Packages (distributions) or entry points whose declarations count; True for all. The tools of the others
            are refused until somebody declares them.
        group: Where packages enter them.
        name: What the source is called.
    """

    origin = Origin.PLUGIN

    def __init__(
        self,
        *,
        include: Collection[str] | None = None,
        accept: Collection[str] | bool = False,
        group: str = GROUP,
        name: str = "entry_points",
    ) -> None:
        self.name = name
        self._group = group
        self._include = None if include is None else _names(include)
        self._accept = accept if isinstance(accept, bool) else _names(accept)
        self._toolkits: dict[tuple[str, str, str], OpenToolkit] = {}

    async def load(self, desk: Desk) -> Loaded:  # noqa: ARG002 - packages need nothing of the gate
        """Every tool of every entry point, and what failed."""
        tools: list[Tool] = []
        failures: list[Failure] = []
        points = sorted(entry_points(group=self._group), key=_place)
        for point in points:
            if self._include is not None and point.name not in self._include:
                continue
            try:
                tools += await self._tools_of(point)
            except Exception as error:  # noqa: BLE001 - whatever a package does, the others load
                failures.append(Failure(brief(point.name), told(error)))
        unknown = (self._include or frozenset()) - {point.name for point in points}
        failures += [Failure(brief(name), f"no package has it in {self._group}") for name in sorted(unknown)]
        return Loaded(tuple(tools), tuple(failures))

    async def close(self) -> None:
        """Let the toolkits go, whatever one of them does."""
        opened, self._toolkits = list(self._toolkits.values()), {}
        for each in opened:
            try:
                await close_toolkit(each.kit)
            except Exception as error:  # noqa: BLE001 - the others still have to be closed
                _log.warning("toolkit %s did not close: %s", each.name, type(error).__name__)

    async def _tools_of(self, point: EntryPoint) -> list[Tool]:
        # Importing may take long, and the loop has calls to run.
        thing: Any = await asyncio.to_thread(_import, point)
        made = await self._toolkit_tools(point, thing) if is_toolkit(thing) else convert(thing)
        return [self._ours(tool, point) for tool in made]

    async def _toolkit_tools(self, point: EntryPoint, thing: Any) -> list[Tool]:
        opened = self._toolkits.get(_place(point))
        if opened is None:
            opened = self._toolkits[_place(point)] = await open_toolkit(thing)
        return [make_tool(opened, key, stated=declare()) for key in opened.functions]

    def _ours(self, tool: Tool, point: EntryPoint) -> Tool:
        package = _package(point)
        tags = (f"source:{self.origin.value}", f"package:{package}", *tool.tags[1:])
        tool = replace(tool, source=self.origin, source_name=self.name, tags=tuple(dict.fromkeys(tags)))
        accepted = self._accept if isinstance(self._accept, bool) else bool(self._accept & {package, point.name})
        return tool if accepted else _unbelieved(tool)


def _import(point: EntryPoint) -> Any:
    try:
        return point.load()
    except SystemExit as error:
        raise ConfigurationError("it ended the process while it was imported") from error


def _unbelieved(tool: Tool) -> Tool:
    """The tool without what it says in its own favour, which is kept for whoever declares it."""
    return replace(
        tool,
        declared=False,
        claims={
            "effects": list(tool.side_effects),
            "destructive": tool.destructive,
            "idempotent": tool.idempotent,
            "risk": tool.base_risk.label,
        },
        effects=tool.effects - {Effect.READ_ONLY},
        destructive=True,
        idempotent=False,
        deterministic=False,
        concurrency_safe=False,
        base_risk=max(tool.base_risk, Risk.HIGH),
        risk_declared=False,
        allowed_callers=frozenset({Caller.DIRECT}),
    )


def _package(point: EntryPoint) -> str:
    return "unknown" if point.dist is None else point.dist.name


def _place(point: EntryPoint) -> tuple[str, str, str]:
    return point.name, _package(point), point.value


def _names(given: Collection[str]) -> frozenset[str]:
    return frozenset((given,) if isinstance(given, str) else given)
