"""Opening a toolkit: from a class, an instance or a function that makes one to its tools. Written once, to be awaited.

`without_waiting` is the bridge for code that cannot await: it goes as far as nothing has to be waited for.
"""

from __future__ import annotations

import fnmatch
import inspect
from collections.abc import Callable, Coroutine, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from callgate.adapters.declare import Declaration, declare
from callgate.adapters.function import make_function_tool, marked_declaration
from callgate.adapters.told import told
from callgate.adapters.toolkits.toolkit import Toolkit, is_toolkit, toolkit_name, tools_map
from callgate.errors import ConfigurationError
from callgate.model.levels import Origin
from callgate.model.tool import Tool
from callgate.model.visible import brief

T = TypeVar("T")
Functions = dict[str, Callable[..., Any]]
Words = Iterable[str] | str
"""Names or globs."""


@dataclass(frozen=True, slots=True)
class OpenToolkit:
    """A toolkit that is ready."""

    name: str
    kit: Any
    functions: Functions
    """Those it offers, by name; filters have been applied."""


async def open_toolkit(thing: Any) -> OpenToolkit:
    """Make the toolkit, let it get ready, and read what it offers.

    Raises:
        ConfigurationError: It cannot be made; names it and says why.
    """
    called = toolkit_name(thing)
    try:
        kit = await _made(thing)
        if isinstance(kit, Toolkit):
            await _settled(kit.setup())
        return OpenToolkit(called, kit, await read_functions(kit))
    except Exception as error:
        raise ConfigurationError(f"the toolkit {called} cannot be made: {told(error)}") from error


async def read_functions(kit: Any) -> Functions:
    """What a toolkit offers now, its own filters applied.

    Raises:
        ConfigurationError: It gives no functions by name, or a filter names none of them.
    """
    functions = await _settled(tools_map(kit))
    if not isinstance(functions, Mapping):
        raise ConfigurationError(f"its map of tools is a {type(functions).__name__}, not functions by name")
    named = {str(key): value for key, value in cast("Mapping[Any, Any]", functions).items()}
    if not isinstance(kit, Toolkit):
        return named
    kept, idle = filtered(named, include=kit.include, exclude=kit.exclude)
    if idle:
        # Whoever wrote the word believes that it keeps something in or out.
        raise ConfigurationError(f"{brief(idle[0])!r} fits none of its tools: {', '.join(named) or 'it has none'}")
    return {name: named[name] for name in kept}


def filtered(names: Iterable[str], *, include: Words | None, exclude: Words) -> tuple[dict[str, None], list[str]]:
    """The names that a word or glob takes in and none leaves out; and the words that fit nothing at all."""
    known = tuple(names)
    taken, left = None if include is None else _words(include), _words(exclude)
    kept = {name: None for name in known if (taken is None or _fits(name, taken)) and not _fits(name, left)}
    return kept, [word for word in (*(taken or ()), *left) if not any(_fits(name, (word,)) for name in known)]


def make_tool(opened: OpenToolkit, key: str, *, stated: Declaration, source: str = "", prefix: str = "") -> Tool:
    """One function of a toolkit as a tool.

    Raises:
        ConfigurationError: It cannot be one; says why.
    """
    function = opened.functions[key]
    marked = marked_declaration(function)
    of_all: Mapping[str, Any] = getattr(opened.kit, "declaration", {}) if isinstance(opened.kit, Toolkit) else {}
    declared = declare(**of_all).with_more({} if marked is None else marked.stated).with_more(stated.stated)
    name = declared.name or key
    own = {
        "name": f"{prefix}.{name}" if prefix else name,
        "source": Origin.TOOLKIT,
        "source_name": source or opened.name,
        "tags": (f"toolkit:{opened.name}", *declared.tags),
        "connector": declared.connector or prefix or opened.name,
    }
    return make_function_tool(function, declared.with_more(own))


def make_tools(thing: Any, stated: Declaration) -> list[Tool]:
    """Every tool of a toolkit that needs no waiting to be made.

    Raises:
        ConfigurationError: It cannot be made, has to be waited for, or one of its methods cannot be a tool.
    """
    called = toolkit_name(thing)
    opened = without_waiting(open_toolkit(thing), name=called)
    if not opened.functions:
        raise ConfigurationError(f"the toolkit {opened.name} has no public method")
    return [make_tool(opened, key, stated=stated) for key in opened.functions]


def without_waiting(work: Coroutine[Any, Any, T], *, name: str) -> T:
    """What a coroutine gives that never has to wait, also where a loop runs already.

    Raises:
        ConfigurationError: It has to wait.
    """
    try:
        work.send(None)
    except StopIteration as ended:
        return ended.value
    work.close()
    message = f"the toolkit {name} has to be waited for; use `await gate.attach(ToolkitSource(…))`"
    raise ConfigurationError(message)


async def close_toolkit(kit: Any) -> None:
    """Let a toolkit go."""
    if isinstance(kit, Toolkit):
        await _settled(kit.close())


async def _made(thing: Any) -> Any:
    """The toolkit itself: a class or a function makes one, an instance is one."""
    is_maker = isinstance(thing, type) or (callable(thing) and not is_toolkit(thing))
    kit = await _settled(thing() if is_maker else thing)
    if not is_toolkit(kit):
        raise ConfigurationError(f"a {type(kit).__name__} came, which is no toolkit")
    return kit


async def _settled(value: Any) -> Any:
    return await value if inspect.isawaitable(value) else value


def _words(value: Words) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


def _fits(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)
