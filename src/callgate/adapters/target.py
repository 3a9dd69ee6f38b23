"""What is behind a callable: the function that was written, its name, its words, and whether it must be awaited."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from types import FunctionType, MethodType
from typing import Any

from callgate.errors import ConfigurationError
from callgate.model.naming import snake_case
from callgate.model.visible import brief

MARK = "__callgate__"
"""Where `@tool` leaves the declaration."""
HINTS = "__callgate_hints__"
"""Where `@tool` leaves hints that only make sense in the place the function was written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A callable, seen through methods, partials and objects down to the function that was written."""

    call: Callable[..., Any]
    """What is called."""
    written: Any
    """The function behind it; hints and bytecode are there."""
    name: str
    """Empty when it has none (a lambda)."""
    doc: str
    is_async: bool
    bound: frozenset[str] = frozenset()
    """Parameters that partials have settled: no business of a model."""


def find_target(thing: Any) -> Target:
    """Look through a callable.

    Raises:
        ConfigurationError: It cannot be called, or cannot be a tool as it is.
    """
    _refuse_uncallable(thing)
    written, bound = _look_through(thing)
    if inspect.isgeneratorfunction(written) or inspect.isasyncgenfunction(written):
        raise ConfigurationError(f"{_label(thing)} yields; a tool returns one value, so return a list")
    return Target(
        call=thing,
        written=written,
        name=_name(thing, written),
        doc=(written.__doc__ if isinstance(written, FunctionType) else None) or _doc_of_object(thing),
        is_async=inspect.iscoroutinefunction(written) or inspect.iscoroutinefunction(thing),
        bound=bound,
    )


def _refuse_uncallable(thing: Any) -> None:
    if isinstance(thing, (staticmethod, classmethod)):
        message = f"{_label(thing.__func__)} is not bound yet; add it through its class"  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
        raise ConfigurationError(message)
    if isinstance(thing, type):
        raise ConfigurationError(f"{thing.__qualname__} is a class; add an instance of it, or one of its methods")
    if not callable(thing):
        raise ConfigurationError(f"{type(thing).__name__} cannot be called")


def _look_through(thing: Any) -> tuple[Any, frozenset[str]]:
    bound: set[str] = set()
    while True:
        if isinstance(thing, functools.partial):
            bound.update(thing.keywords)  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
            thing = thing.func  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        elif isinstance(thing, MethodType):
            thing = thing.__func__
        else:
            break
    if isinstance(thing, FunctionType) or inspect.isbuiltin(thing):  # pyright: ignore[reportUnknownArgumentType]
        return thing, frozenset(bound)
    inner = type(thing).__call__  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
    return (inner if isinstance(inner, FunctionType) else thing), frozenset(bound)


def _name(thing: Any, written: Any) -> str:
    if isinstance(written, FunctionType) and written.__name__ != "__call__":
        return "" if written.__name__ == "<lambda>" else written.__name__
    given = getattr(thing, "__name__", None)
    return given if isinstance(given, str) else snake_case(type(thing).__name__)


def _doc_of_object(thing: Any) -> str:
    """The words of a callable object stand on its class, unless they are those of a class of Python's own."""
    if isinstance(thing, (FunctionType, MethodType, functools.partial)):
        return ""
    kind: type = type(thing)  # pyright: ignore[reportUnknownVariableType]
    return inspect.getdoc(kind) or "" if kind.__module__ != "builtins" else ""


def _label(thing: Any) -> str:
    return brief(str(getattr(thing, "__qualname__", type(thing).__qualname__)))
