"""LangChainTools: a list, a toolkit, or a function that gives them, as one source under one prefix."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from callgate.adapters.declare import Fields, declare
from callgate.adapters.langchain.incoming import Inject, make_langchain_tool, tool_name
from callgate.adapters.langchain.recognise import langchain_tools
from callgate.errors import ConfigurationError
from callgate.model.levels import Origin
from callgate.model.naming import is_name_part
from callgate.model.source import Failure, Loaded
from callgate.model.tool import Tool
from callgate.model.visible import brief
from callgate.ports import Desk


class LangChainTools:
    """LangChain tools as a source: `await gate.attach(LangChainTools(tools, name="search", effects="read_only"))`.

    Args:
        tools: Tools, toolkits, or a function (async or not) that gives them, which is asked again at each loading.
        name: Names the source, and stands before the dot of every tool's name.
        tool_declarations: What the operator declares of single tools, by LangChain's name for them.
        inject: Arguments hidden from models, by name, each a function of the call's `ToolContext`.
        declaration: What the operator declares of all of them, as `@tool` takes it.

    Raises:
        ConfigurationError: The name cannot be a prefix, or a declaration is wrong.
    """

    origin = Origin.LANGCHAIN

    def __init__(
        self,
        tools: Any,
        *,
        name: str = "langchain",
        tool_declarations: Mapping[str, Fields] | None = None,
        inject: Inject | None = None,
        **declaration: Any,
    ) -> None:
        if not is_name_part(name):
            raise ConfigurationError(f"{brief(name)!r} cannot stand before a dot: write snake_case", key="name")
        self.name = name
        self._tools = tools
        self._inject = dict(inject or {})
        self._for_all = declare(**declaration)
        self._for_one = {tool: self._for_all.with_more(fields) for tool, fields in (tool_declarations or {}).items()}
        if self._for_all.id is not None:
            raise ConfigurationError("one id cannot stand for all tools of a source", key="id")

    async def load(self, desk: Desk) -> Loaded:  # noqa: ARG002 - the tools are in this process: nothing is asked of the gate
        things = await self._listed()
        tools: list[Tool] = []
        failures: list[Failure] = []
        for thing in things:
            try:
                tools.append(self._make(thing))
            except ConfigurationError as error:
                failures.append(Failure(_label(thing), error.message))
        names = {_label(thing) for thing in things}
        failures += [
            Failure(name, "it is declared, and there is no such tool") for name in self._for_one if name not in names
        ]
        return Loaded(tuple(tools), tuple(failures))

    async def close(self) -> None:
        """Nothing is held."""

    async def _listed(self) -> list[Any]:
        given = self._tools
        if callable(given) and langchain_tools(given) is None:
            given = await _asked(given)
        found: list[Any] = []
        for thing in given if isinstance(given, Iterable) and langchain_tools(given) is None else (given,):  # pyright: ignore[reportUnknownVariableType]
            tools = langchain_tools(thing)
            if tools is None:
                raise ConfigurationError(f"{type(thing).__name__} is no LangChain tool and no toolkit")  # pyright: ignore[reportUnknownArgumentType]
            found += tools
        return found

    def _make(self, thing: Any) -> Tool:
        label = _label(thing)
        declaration = self._for_one.get(label, self._for_all)
        own = declaration.name or tool_name(label).replace(".", "_")
        fields = {"name": f"{self.name}.{own}", "source_name": self.name}
        return make_langchain_tool(thing, declaration.with_more(fields), inject=self._inject)


def _label(thing: Any) -> str:
    """LangChain's name for a tool, hidden characters shown; that of its class where it does not say."""
    try:
        return brief(str(thing.name))
    except Exception:  # noqa: BLE001 - a tool is an object of anybody's class
        return type(thing).__qualname__


async def _asked(give: Callable[[], Any]) -> Any:
    """What a function gives; a plain one may take its time, on a thread."""
    if inspect.iscoroutinefunction(give):
        return await give()
    given = await asyncio.to_thread(give)
    return await given if inspect.isawaitable(given) else given
