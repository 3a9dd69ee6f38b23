"""The function of a skill as one that a handler can be made of: it takes a `ToolContext` for its `SkillContext`."""

from __future__ import annotations

import functools
import inspect
import typing
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from callgate.adapters.target import HINTS, Target, find_target
from callgate.errors import ConfigurationError
from callgate.model.tool_context import ToolContext
from callgate.skills.context import SkillContext

_OURS = {"SkillContext": SkillContext, "ToolContext": ToolContext}


class MakeContext(Protocol):
    """Gives the skill's context for one call."""

    def __call__(self, tool_context: ToolContext, /) -> SkillContext:
        """The context of this call."""
        ...


def adapt(function: Callable[..., Any], make: MakeContext) -> Callable[..., Any]:
    """The function with a `ToolContext` in the place of its `SkillContext`; awaited exactly if the function is.

    Raises:
        ConfigurationError: It takes no `SkillContext`, or several, or its hints cannot be read.
    """
    target = find_target(function)
    hints = _hints(target)
    place = _place(target, hints)
    signature = inspect.signature(function)

    def filled(args: tuple[Any, ...], kwargs: dict[str, Any]) -> inspect.BoundArguments:
        bound = signature.bind(*args, **kwargs)
        bound.arguments[place] = make(bound.arguments[place])
        return bound

    adapted = _awaited(function, filled) if target.is_async else _plain(function, filled)
    # Hints are left where the makers of handlers look for them first.
    setattr(adapted, HINTS, {**hints, place: ToolContext})
    adapted.__name__, adapted.__doc__ = target.name, target.doc
    return adapted


Fill = Callable[[tuple[Any, ...], dict[str, Any]], inspect.BoundArguments]


def _awaited(function: Callable[..., Any], filled: Fill) -> Callable[..., Any]:
    @functools.wraps(function)
    async def adapted(*args: Any, **kwargs: Any) -> Any:
        bound = filled(args, kwargs)
        return await function(*bound.args, **bound.kwargs)

    return adapted


def _plain(function: Callable[..., Any], filled: Fill) -> Callable[..., Any]:
    @functools.wraps(function)
    def adapted(*args: Any, **kwargs: Any) -> Any:
        bound = filled(args, kwargs)
        return function(*bound.args, **bound.kwargs)

    return adapted


def _hints(target: Target) -> Mapping[str, Any]:
    kept = getattr(target.written, HINTS, None)
    if kept is not None:
        return kept
    try:
        names = {**_OURS, **getattr(target.written, "__globals__", {})}
        return typing.get_type_hints(target.written, localns=names, include_extras=True)
    except Exception as error:
        message = f"a type hint of {target.name} cannot be read ({error}); import its name where the function is"
        raise ConfigurationError(message) from error


def _place(target: Target, hints: Mapping[str, Any]) -> str:
    places = [name for name, hint in hints.items() if name != "return" and hint is SkillContext]
    if len(places) != 1:
        how = "twice" if places else "not"
        message = f"{target.name} takes the SkillContext {how}; it calls its tools through one: steps: SkillContext"
        raise ConfigurationError(message)
    return places[0]
