"""The catalogue of built-in tools: which there are, what each needs, and how those somebody names are made.

A category is imported when a tool of it is wanted, and its libraries when the tool runs. What a tool needs and is not
there makes it unavailable with the command that installs it, and harms no other.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from callgate.adapters.convert import convert
from callgate.errors import ConfigurationError
from callgate.model.levels import Origin
from callgate.model.tool import Tool
from callgate.registry.near import meant
from callgate.settings.values import BuiltinToolsSettings
from callgate.tools import (
    agents,
    archives,
    code,
    data,
    files,
    github,
    intelligence,
    language,
    maths,
    notices,
    plugins,
    threads,
    vault,
    web,
)
from callgate.tools.category import Category
from callgate.tools.libraries import find_library, from_installed_only
from callgate.tools.programs import ends_unknown, find_program
from callgate.tools.services import NOTHING, Services

ALL = "all"
READ_ONLY = "read_only"
"""All that change nothing: what is offered where nobody has named anything yet."""
CATEGORIES: Mapping[str, Category] = MappingProxyType(
    {
        "agents": agents.CATEGORY,
        "archives": archives.CATEGORY,
        "code": code.CATEGORY,
        "data": data.CATEGORY,
        "files": files.CATEGORY,
        "github": github.CATEGORY,
        "intelligence": intelligence.CATEGORY,
        "language": language.CATEGORY,
        "maths": maths.CATEGORY,
        "notices": notices.CATEGORY,
        "plugins": plugins.CATEGORY,
        "threads": threads.CATEGORY,
        "vault": vault.CATEGORY,
        "web": web.CATEGORY,
    }
)
SHIPPED: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"canvas_tools": ("export_reasoning_canvas", "import_canvas_edits", "list_canvases")}
)
"""Plugins that come with Callgate, each with its tools."""
SHIPPED_FOLDER = Path(__file__).parent / "shipped"
_INSTALLING = {
    "bwrap": "bubblewrap, which keeps programs apart; install it (on Debian and Ubuntu: apt-get install bubblewrap)",
    "rg": "ripgrep; install with: pip install 'callgate[files]'",
}


def make_builtin(enable: Iterable[str], settings: BuiltinToolsSettings, *, services: Services = NOTHING) -> list[Tool]:
    """Make the tools that somebody names.

    Args:
        enable: Names of categories or tools, `all`, or `read_only`.
        settings: What the configuration says of them.
        services: What the gate lends them.

    Raises:
        ConfigurationError: There is no category or tool of that name.
    """
    named = tuple(enable)
    wanted, reads = _wanted(named), READ_ONLY in named
    made: list[Tool] = []
    for name, category in CATEGORIES.items():
        if reads or not wanted.isdisjoint(category.tools):
            needs = category.under(settings)
            offer = importlib.import_module(f"callgate.tools.{name}.offer")
            offered = convert(offer.make(settings, services))
            tools = (tool for tool in offered if tool.name in wanted or (reads and tool.read_only))
            made += (_as_builtin(tool, name, needs=needs) for tool in tools)
    return made


def shipped_tools(enable: Iterable[str]) -> frozenset[str]:
    """The tools of shipped plugins that somebody names.

    Raises:
        ConfigurationError: There is no category or tool of that name.
    """
    return frozenset(_wanted(enable).intersection(tool for tools in SHIPPED.values() for tool in tools))


def _wanted(enable: Iterable[str]) -> set[str]:
    return {tool for name in enable for tool in meant_by(name)}


def meant_by(name: str) -> list[str]:
    """The tools that a name stands for; of `read_only` none, as only made tools say that of themselves.

    Raises:
        ConfigurationError: There is no category or tool of that name.
    """
    groups = {category: tuple(body.tools) for category, body in CATEGORIES.items()} | dict(SHIPPED)
    everything = [tool for tools in groups.values() for tool in tools]
    if name == READ_ONLY:
        return []
    if name == ALL:
        return everything
    if name in groups:
        return list(groups[name])
    if name in everything:
        return [name]
    found = meant(name, [*groups, *everything, ALL, READ_ONLY])
    hint = (
        f"did you mean {found}?"
        if found
        else f"there are {', '.join(groups)}, the tools in them, {ALL} and {READ_ONLY}"
    )
    raise ConfigurationError(f"there is no built-in tool or category {name}; {hint}")


def _as_builtin(tool: Tool, name: str, *, needs: Category) -> Tool:
    return replace(
        tool,
        source=Origin.BUILTIN,
        source_name=name,
        category=name,
        handler=None if tool.handler is None else from_installed_only(tool.handler, is_async=tool.is_async),
        unavailable=_missing(tool.name, needs) or tool.unavailable,
    )


def _missing(tool: str, category: Category) -> str | None:
    modules = [module for module in category.tools[tool] if find_library(module) is None]
    if modules:
        return f"it needs {' and '.join(modules)}; install with: pip install 'callgate[{category.extra}]'"
    program = category.programs.get(tool)
    if program is None:
        return None
    return ends_unknown() if find_program(program) else f"it needs {_INSTALLING[program]}"
