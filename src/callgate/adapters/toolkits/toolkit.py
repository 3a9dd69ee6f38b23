"""Toolkit: a class whose public methods become tools. Says which they are, and knows nothing of how tools are made."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import FunctionType
from typing import Any, ClassVar, TypeVar, cast, overload

from callgate.errors import ConfigurationError
from callgate.model.naming import is_name_part, snake_case
from callgate.model.visible import brief

K = TypeVar("K", bound=type)

MARK = "__callgate_toolkit__"
"""Where `register_toolkit` leaves the name."""
_MAPS = ("get_filtered_tools_map", "get_tools_map")
_SUFFIX = "_toolkit"
_registered: dict[str, type] = {}


class Toolkit:
    """Derive from it and write methods: every public method of the class becomes a tool, named as the method.

    What begins with an underscore is none, nor are `setup`, `close` and `get_tools_map`. What a method declares stands
    over it (`@tool(effects=…)`), what all of them declare in `declaration`; a method without either is refused.

    Args:
        include: Names or globs of the methods to take; all of them when left out.
        exclude: Names or globs of those to leave out.
    """

    name: ClassVar[str] = ""
    """What the toolkit is called; by default its class: `NotesToolkit` is `notes`."""
    declaration: ClassVar[Mapping[str, Any]] = {}
    """Fields that hold for every method, as `@tool` takes them; what a method says itself stands before them."""
    include: Iterable[str] | str | None = None
    exclude: Iterable[str] | str = ()

    def __init__(self, *, include: Iterable[str] | str | None = None, exclude: Iterable[str] | str = ()) -> None:
        self.include = self.include if include is None else include
        self.exclude = exclude or self.exclude

    def setup(self) -> Any:
        """Get ready, before the methods are read; may be a coroutine function."""

    def close(self) -> Any:
        """Let go of what `setup` took, when the source of the toolkit closes; may be a coroutine function."""

    def get_tools_map(self) -> Any:
        """The functions that become tools, by name; may be a coroutine function."""
        return methods_of(self)


_OURS = frozenset(name for name in vars(Toolkit) if not name.startswith("_"))


@overload
def register_toolkit(kind: K, /) -> K: ...


@overload
def register_toolkit(name: str | None = None, /) -> Callable[[K], K]: ...


def register_toolkit(thing: Any = None, /) -> Any:
    """Make a class known as a toolkit: `@register_toolkit`, or `@register_toolkit("notes")`.

    The class need not derive from `Toolkit`. A `ToolkitSource()` has all that are registered, and a module that is
    added to a gate brings those it defines.

    Raises:
        ConfigurationError: It is no class, the name is none, or another class has it.
    """
    if isinstance(thing, type):
        return _register(thing, None)
    if thing is not None and not isinstance(thing, str):
        raise ConfigurationError(f"@register_toolkit stands over a class, not over {type(thing).__name__}")

    def register(kind: type) -> type:
        return _register(kind, thing)

    return register


def registered_toolkits() -> dict[str, type]:
    """Every registered toolkit by its name, as they came."""
    return dict(_registered)


def is_toolkit(thing: Any) -> bool:
    """Whether it is a toolkit, or the class of one: derived, registered, or with a map of its tools."""
    kind: type = thing if isinstance(thing, type) else type(thing)
    return is_toolkit_class(kind) or any(callable(getattr(kind, name, None)) for name in _MAPS)


def is_toolkit_class(kind: type) -> bool:
    """Whether a class says of itself that it is a toolkit."""
    return issubclass(kind, Toolkit) or hasattr(cast("Any", kind), MARK)


def toolkit_name(thing: Any) -> str:
    """What a toolkit, its class, or a function that makes one is called.

    Raises:
        ConfigurationError: It cannot be a name.
    """
    kind: Any = thing if isinstance(thing, type) or not is_toolkit(thing) else type(thing)
    given = vars(kind).get(MARK) if isinstance(kind, type) else None
    stated: Any = getattr(thing, "name", None) if is_toolkit(thing) and isinstance(kind, type) else None
    own = snake_case(str(getattr(kind, "__name__", type(kind).__name__)))
    name = given or (stated if isinstance(stated, str) else "") or own.removesuffix(_SUFFIX) or own
    if not is_name_part(name):
        raise ConfigurationError(f"{brief(name)!r} is no name for a toolkit: write snake_case", key="name")
    return name


def tools_map(kit: Any) -> Any:
    """The functions of a toolkit by name, or what has to be awaited for them."""
    for name in _MAPS:
        found = getattr(kit, name, None)
        if callable(found):
            return found()
    return methods_of(kit)


def methods_of(kit: Any) -> dict[str, Callable[..., Any]]:
    """The public methods written in toolkit classes, as they were written; those of other classes are not offered."""
    found: dict[str, None] = {}
    for kind in reversed(type(kit).__mro__):
        if kind is Toolkit or not is_toolkit_class(kind):
            continue
        for name, value in vars(kind).items():
            if name.startswith("_") or (name in _OURS and isinstance(kit, Toolkit)):
                continue
            if isinstance(value, (FunctionType, staticmethod, classmethod)):
                found[name] = None
            else:
                found.pop(name, None)
    return {name: getattr(kit, name) for name in found}


def _register(kind: type, name: str | None) -> type:
    if not isinstance(kind, type):  # pyright: ignore[reportUnnecessaryIsInstance] - a decorator stands over anything
        raise ConfigurationError(f"@register_toolkit stands over a class, not over {type(kind).__name__}")
    chosen = name or toolkit_name(kind)
    if not is_name_part(chosen):
        raise ConfigurationError(f"{brief(chosen)!r} is no name for a toolkit: write snake_case", key="name")
    held = _registered.get(chosen)
    # A module that is imported again brings the same class anew.
    if held is not None and _place(held) != _place(kind):
        raise ConfigurationError(f"a toolkit called {chosen!r} is registered already, by {'.'.join(_place(held))}")
    setattr(kind, MARK, chosen)
    _registered[chosen] = kind
    return kind


def _place(kind: type) -> tuple[str, str]:
    return kind.__module__, kind.__qualname__
