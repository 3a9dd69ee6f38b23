"""Opening a gate for one command, with its tools, and closing it again whatever happens."""

from __future__ import annotations

import asyncio
import contextlib
import enum
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote

from callgate.cli.place import Place
from callgate.cli.stopping import until_stopped
from callgate.cli.streams import stdout_kept
from callgate.cli.trouble import wrong
from callgate.runtime.builtin import builtin_tools
from callgate.runtime.configuring import read_configuration
from callgate.runtime.gate import Callgate
from callgate.runtime.host_tools import every_host_tool, names_hosts
from callgate.runtime.module_tools import ModuleTools
from callgate.runtime.modules import load_configured, load_modules, placed
from callgate.runtime.offline import DEFAULT_STORE, store_exists
from callgate.runtime.opened import Around
from callgate.settings.values import BuiltinToolsSettings, Observe, PluginsSettings, Settings

if TYPE_CHECKING:
    from callgate.model.context import Context
    from callgate.model.tool import Tool
    from callgate.ports import Asker

T = TypeVar("T")
MEMORY = "memory://"
EVERYTHING = ("all",)
NO_TOOLS = (
    "no tools are known here: name a module with --module NAME; or write in callgate.yaml `modules: [NAME]`, or"
    " `builtin_tools: {enable: [all]}`"
)


class Need(enum.Enum):
    """What a command needs of the store."""

    MAKE = enum.auto()
    """It is made when it is not there."""
    EXISTING = enum.auto()
    """Looking into a store that was just made would say that all is well."""
    IF_THERE = enum.auto()
    """What is remembered counts, and nothing is remembered when there is none yet."""
    LOOK = enum.auto()
    """As EXISTING, and looking leaves no trace: nothing is recorded, signed or anchored for it."""
    NONE = enum.auto()
    """The store is left alone."""


class Tools(enum.Enum):
    """Whether a command needs the tools. Their modules run code of their own, and may be broken."""

    NONE = enum.auto()
    """A record can be looked at and a question answered whatever has become of the tools."""
    SERVERS = enum.auto()
    """Only those of MCP servers: nothing of ours is imported."""
    LOADED = enum.auto()
    NEEDED = enum.auto()
    """It is pointless without any."""


_WITH_MODULES = frozenset({Tools.LOADED, Tools.NEEDED})


def run(
    place: Place,
    work: Callable[[Callgate], Awaitable[T]],
    *,
    need: Need,
    tools: Tools = Tools.NONE,
    ask: Asker | None = None,
    context: Context | None = None,
) -> T:
    """Open the gate of this place, do the work, and close it.

    Where the tools are there the work may make calls: a signal that ends us cancels it, and it is closed in order.

    Args:
        place: Store, configuration and modules.
        work: What to do with the open gate.
        need: What it needs of the store.
        tools: Whether it needs the tools.
        ask: Who is asked where a person has to decide.
        context: Who asks where a call does not say.

    Raises:
        ConfigurationError: The configuration, a module or the store's URL is wrong, or no tool is known.
        StoreError: The store cannot be used.
        Terminated: SIGTERM came while it made calls.
        HungUp: SIGHUP did.
    """

    async def opened() -> T:
        async with gate_of(place, need=need, tools=tools, ask=ask, context=context) as gate:
            doing = work(gate)
            return await (until_stopped(doing) if tools in _WITH_MODULES else doing)

    with stdout_kept():
        return asyncio.run(opened())


def gate_of(
    place: Place,
    *,
    need: Need,
    tools: Tools = Tools.NONE,
    ask: Asker | None = None,
    context: Context | None = None,
    unnamed: Sequence[str] = EVERYTHING,
    around: Sequence[Around] = (),
    observe: Observe | None = None,
) -> Callgate:
    """The unopened gate of this place, as `run` opens it.

    `unnamed` are the built-in tools that are there where nobody wrote down which: for a person at a terminal, all.
    `observe` is an observe mode besides those of the configuration.

    Raises:
        ConfigurationError: The configuration, a module or the store's URL is wrong, or the store is not there.
    """
    settings = settings_of(place)
    store = _store(store_url(place, settings), need=need, place=place)
    if need is Need.LOOK:
        return Callgate.look(store, settings)
    modules = modules_of(place, settings) if tools in _WITH_MODULES else []
    # The modules are imported here, so that whatever goes wrong in them is told in one line.
    # Nor are servers or plugins started for a look at the record.
    kept = replace(settings, modules=(), observe=(*settings.observe, *([observe] if observe else [])))
    if tools is Tools.NONE:
        kept = replace(kept, mcp_servers={}, mcp_files=())
    if tools not in _WITH_MODULES:
        kept = replace(kept, plugins=PluginsSettings(), builtin_tools=BuiltinToolsSettings())
    builtin = unnamed if kept.file is None and tools in _WITH_MODULES else ()
    gate = Callgate.open(store, kept, ask=ask, context=context, builtin_tools=builtin, around=around)
    _add_modules(gate, modules, settings=settings)
    if tools in _WITH_MODULES and names_hosts(settings):
        gate.add(*every_host_tool(), update=True)
    if tools is Tools.NEEDED and not (gate.tools() or builtin or _has_sources(kept)):
        wrong(NO_TOOLS)
    return gate


def _has_sources(settings: Settings) -> bool:
    brought = settings.mcp_servers or settings.mcp_files or settings.plugins.folders
    return bool(brought or settings.builtin_tools.enable)


def settings_of(place: Place) -> Settings:
    """The configuration of this place.

    Raises:
        ConfigurationError: It is wrong, or was named and is missing.
    """
    return read_configuration(place.config, required=place.config is not None)


def modules_of(place: Place, settings: Settings) -> list[ModuleType]:
    """The modules of this place: those of the configuration, then those that were typed.

    Raises:
        ConfigurationError: One of them cannot be imported.
    """
    here = Path.cwd()
    return [*load_configured(settings, working_directory=here), *load_modules(place.modules, folder=here)]


def _add_modules(gate: Callgate, modules: Sequence[ModuleType], *, settings: Settings) -> None:
    """Add what they offer, as a gate does that opens with the configuration.

    Raises:
        ConfigurationError: One offers nothing, is declared wrong, or another has a tool of that name; with its place.
    """
    brought = ModuleTools()
    for at, module in enumerate(modules):
        where = placed(settings, f"modules[{at}]") if at < len(settings.modules) else contextlib.nullcontext()
        with where:
            brought.add(module, gate)


def things_of(place: Place, settings: Settings) -> list[Any]:
    """Everything of this place that tools are made of, for who judges them without opening its gate.

    Built-in tools come first: a tool of one's own that is called the same takes the place of one.

    Raises:
        ConfigurationError: A module cannot be imported, there is no such built-in tool, or a server is described wrong.
    """
    modules = modules_of(place, settings)
    # Tried as a gate would take them: which module a name is twice in is known here alone.
    _add_modules(Callgate.open(MEMORY, Settings()), modules, settings=settings)
    found: list[Any] = [*builtin_tools(settings), *dict.fromkeys(modules)]
    if names_hosts(settings):
        found += every_host_tool()
    if settings.plugins.folders:
        from callgate.runtime.plugins import plugin_tools  # noqa: PLC0415 - loaded only where there are plugins

        found += plugin_tools(settings, Path.cwd())
    return [*found, *_tools_of_servers(settings)]


def _tools_of_servers(settings: Settings) -> tuple[Tool, ...]:
    """What the MCP servers have; the policy, which may be wrong, is left out of it."""
    if not settings.mcp_servers and not settings.mcp_files:
        return ()
    kept = Settings(
        file=settings.file,
        lines=settings.lines,
        secrets=settings.secrets,
        mcp_servers=settings.mcp_servers,
        mcp_files=settings.mcp_files,
    )

    async def listed() -> tuple[Tool, ...]:
        async with Callgate.open(MEMORY, kept) as gate:
            return (*gate.tools(), *gate.relayed_tools())

    with stdout_kept():
        return asyncio.run(listed())


def store_url(place: Place, settings: Settings) -> str:
    """The store of this place; a plain file name is an SQLite store."""
    given = place.store if place.store is not None else settings.store or DEFAULT_STORE
    if not given.strip():
        wrong("--store names no store; leave it out for the usual one")
    if "://" in given:
        return given
    file = Path(given).expanduser()
    if file.is_dir():
        wrong(f"{given} is a folder, and a store is a file, such as {file / 'callgate.db'}")
    return f"sqlite:///{quote(str(file))}"


def _store(url: str, *, need: Need, place: Place) -> str:
    if need is Need.NONE:
        return MEMORY
    there = need is Need.MAKE or store_exists(url)
    if need is Need.IF_THERE and not there:
        return MEMORY
    if not there:
        first = place.command("call", "TOOL", "ARGUMENTS")
        wrong(f"there is no store at {url}; name another with --store, or make this one with the first call: {first}")
    return url


def stdin_is_terminal() -> bool:
    """Whether a person can be asked here."""
    return sys.stdin is not None and sys.stdin.isatty()
