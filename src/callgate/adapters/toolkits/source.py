"""ToolkitSource: toolkits as a source of tools. One that cannot be made is told by name and reason; the rest load."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from callgate.adapters.declare import declare
from callgate.adapters.told import told
from callgate.adapters.toolkits.opening import (
    OpenToolkit,
    close_toolkit,
    filtered,
    make_tool,
    open_toolkit,
    read_functions,
)
from callgate.adapters.toolkits.toolkit import registered_toolkits, toolkit_name
from callgate.errors import ConfigurationError
from callgate.model.levels import Origin
from callgate.model.naming import is_name_part
from callgate.model.source import Failure, Loaded
from callgate.model.tool import Tool
from callgate.model.visible import brief
from callgate.ports import Desk

_log = logging.getLogger("callgate")
_ALL = "toolkits"


class ToolkitSource:
    """Toolkits, to be attached to a gate: `await gate.attach(ToolkitSource(Notes))`.

    Each is made once, when the source is loaded first, and closed with it; loading again reads its functions anew, and
    tries again what could not be made.

    Args:
        toolkits: Classes, instances, or functions (plain or async) that make one; without any, all that are registered.
        name: What the source is called; by default its only toolkit, else `toolkits`.
        prefix: The first half of every tool's name: `notes` makes `notes.search`.
        include: Names or globs of the functions to take; all of them when left out.
        exclude: Names or globs of those to leave out.
        **declaration: Fields that hold for all of them, as `@tool` takes them, before what they say themselves.

    Raises:
        ConfigurationError: The name or the prefix is none, or the declaration is wrong.
    """

    origin = Origin.TOOLKIT

    def __init__(
        self,
        *toolkits: Any,
        name: str | None = None,
        prefix: str = "",
        include: Iterable[str] | str | None = None,
        exclude: Iterable[str] | str = (),
        **declaration: Any,
    ) -> None:
        if prefix and not is_name_part(prefix):
            raise ConfigurationError(f"{brief(prefix)!r} is no prefix: write snake_case", key="prefix")
        self._toolkits = toolkits
        self.name = name or (toolkit_name(toolkits[0]) if len(toolkits) == 1 else _ALL)
        self._prefix = prefix
        self._include = include
        self._exclude = exclude
        self._stated = declare(**declaration)
        self._open: dict[int, OpenToolkit] = {}
        self._made: list[Any] = []
        """What was opened, for as long as it is: an id belongs to one thing only while that is alive."""

    async def load(self, desk: Desk) -> Loaded:  # noqa: ARG002 - a toolkit needs nothing of the gate
        """Every tool of every toolkit, and what failed."""
        kits: list[OpenToolkit] = []
        failures: list[Failure] = []
        for thing in self._toolkits or registered_toolkits().values():
            try:
                kits.append(await self._opened(thing))
            except ConfigurationError as error:
                failures.append(Failure(_called(thing), error.message))
        tools: list[Tool] = []
        taken, idle = self._taken(kits)
        for kit, key in taken:
            try:
                tools.append(make_tool(kit, key, stated=self._stated, source=self.name, prefix=self._prefix))
            except Exception as error:  # noqa: BLE001 - one method harms no other
                failures.append(Failure(f"{kit.name}.{brief(key)}", told(error)))
        return Loaded(tuple(tools), (*failures, *idle))

    async def close(self) -> None:
        """Let every toolkit go, whatever one of them does."""
        opened, self._open, self._made = list(self._open.values()), {}, []
        for each in opened:
            try:
                await close_toolkit(each.kit)
            except Exception as error:  # noqa: BLE001 - the others still have to be closed
                _log.warning("toolkit %s did not close: %s", each.name, type(error).__name__)

    async def _opened(self, thing: Any) -> OpenToolkit:
        known = self._open.get(id(thing))
        if known is None:
            opened = await open_toolkit(thing)
            self._made.append(thing)
        else:
            opened = replace(known, functions=await _functions(known))
        self._open[id(thing)] = opened
        return opened

    def _taken(self, kits: list[OpenToolkit]) -> tuple[list[tuple[OpenToolkit, str]], list[Failure]]:
        """What the filters leave, over all the toolkits: a name may belong to any of them."""
        names = dict.fromkeys(key for kit in kits for key in kit.functions)
        kept, idle = filtered(names, include=self._include, exclude=self._exclude)
        failures = [Failure(brief(word), "the filter names it, and no toolkit that loaded has it") for word in idle]
        return [(kit, key) for kit in kits for key in kit.functions if key in kept], failures


def _called(thing: Any) -> str:
    with contextlib.suppress(ConfigurationError):
        return toolkit_name(thing)
    return brief(str(getattr(thing, "__name__", type(thing).__name__)))


async def _functions(known: OpenToolkit) -> dict[str, Any]:
    try:
        return await read_functions(known.kit)
    except Exception as error:
        raise ConfigurationError(f"the toolkit {known.name} cannot be read: {told(error)}") from error
