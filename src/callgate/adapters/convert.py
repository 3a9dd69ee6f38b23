"""The one entry for anything that can be a tool: whatever it is, it comes out as `Tool` values, or with a reason."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import ModuleType
from typing import Any, Unpack, cast

from callgate.adapters.base_tool import BaseTool
from callgate.adapters.base_tool_actions import construct, make_action_tools
from callgate.adapters.build import build_declared
from callgate.adapters.declare import Declaration, Fields, declare
from callgate.adapters.function import make_function_tool, marked_declaration
from callgate.adapters.langchain.incoming import make_langchain_tool
from callgate.adapters.langchain.recognise import is_langchain_tool, langchain_tools
from callgate.adapters.protocol_object import make_protocol_tool, satisfies_protocol
from callgate.adapters.toolkits.opening import make_tools
from callgate.adapters.toolkits.toolkit import MARK, is_toolkit
from callgate.errors import ConfigurationError
from callgate.model.tool import Tool
from callgate.ports import SecretsStore

_ACCEPTED = (
    "a function, a method, a callable object, an object with name, input_schema and execute, a BaseTool, "
    "a toolkit, a dict for build_tool, a Tool, a LangChain tool, a module with @tool functions or LangChain tools, "
    "or a list of these"
)
_MANY = (list, tuple, set, frozenset)


def convert(thing: Any, *, secrets: SecretsStore | None = None, **declaration: Unpack[Fields]) -> list[Tool]:
    """Make tools of anything that can be one.

    Args:
        thing: A function (decorated or not), method, partial, callable object, object of the Tool protocol, BaseTool
            or Toolkit (class or instance), dict for `build_tool`, `Tool`, module, LangChain tool, or a list of these.
        secrets: Handed to BaseTool classes when they are made.
        **declaration: Fields that stand before what the thing says of itself.

    Raises:
        ConfigurationError: It cannot be a tool, or is declared wrongly.
    """
    stated = declare(**declaration)
    if isinstance(thing, _MANY):
        many = cast("Iterable[Any]", thing)
        return _alone(stated, [tool for item in many for tool in _convert_one(item, stated, secrets=secrets)])
    return _alone(stated, _convert_one(thing, stated, secrets=secrets))


def _convert_one(thing: Any, stated: Declaration, *, secrets: SecretsStore | None) -> list[Tool]:
    if isinstance(thing, Tool):
        return [_untouched(thing, stated)]
    if isinstance(thing, ModuleType):
        return [tool for item in _marked_in(thing) for tool in _convert_one(item, stated, secrets=secrets)]
    if isinstance(thing, type) and issubclass(thing, BaseTool):
        return make_action_tools(construct(thing, secrets), stated)
    if isinstance(thing, BaseTool):
        return make_action_tools(thing, stated)
    if is_toolkit(thing):
        return make_tools(thing, stated)
    others = langchain_tools(thing)
    return (
        [_convert_single(thing, stated)] if others is None else [make_langchain_tool(each, stated) for each in others]
    )


def _convert_single(thing: Any, stated: Declaration) -> Tool:
    if isinstance(thing, Mapping):
        return build_declared(cast("Mapping[str, Any]", thing), stated)
    return make_protocol_tool(thing, stated) if satisfies_protocol(thing) else _convert_callable(thing, stated)


def _convert_callable(thing: Any, stated: Declaration) -> Tool:
    if not callable(thing):
        raise ConfigurationError(f"{type(thing).__name__} cannot be a tool; add {_ACCEPTED}")
    marked = marked_declaration(thing)
    return make_function_tool(thing, marked.with_more(stated.stated) if marked else stated)


def _untouched(tool: Tool, stated: Declaration) -> Tool:
    if stated.stated:
        raise ConfigurationError(f"{tool.name} is a tool already; declare it where it is made")
    return tool


def offers_tools(module: ModuleType) -> bool:
    """Whether a module has anything to add."""
    return any(_offered(item, module) for item in vars(module).values())


def _marked_in(module: ModuleType) -> list[Any]:
    """What a module offers: @tool functions, ready tools, toolkits it registers, LangChain's; each once, as written."""
    found = {id(item): item for item in vars(module).values() if _offered(item, module)}
    if not found:
        raise ConfigurationError(f"the module {module.__name__} has no @tool function")
    # A thing that the module made a tool of is offered as that tool, and not once more.
    made = {id(item.original) for item in found.values() if isinstance(item, Tool)}
    return [item for each, item in found.items() if each not in made]


def _offered(item: Any, module: ModuleType) -> bool:
    if isinstance(item, type):
        return MARK in vars(item) and item.__module__ == module.__name__
    if isinstance(item, Tool) or is_langchain_tool(item):
        return True
    return callable(item) and marked_declaration(item) is not None


def _alone(stated: Declaration, tools: list[Tool]) -> list[Tool]:
    if len(tools) > 1 and (stated.name is not None or stated.id is not None):
        raise ConfigurationError(f"one name cannot stand for {len(tools)} tools", key="name")
    return tools
