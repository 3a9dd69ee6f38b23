"""The parameters of a function as its author wrote them: names, hints, defaults. Knows nothing of schemas."""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from callgate.adapters.target import HINTS, Target
from callgate.errors import ConfigurationError
from callgate.model.context import Context
from callgate.model.tool_context import ToolContext
from callgate.model.visible import brief

NONE: Any = inspect.Parameter.empty
"""No default, no hint."""
_OURS = {"ToolContext": ToolContext, "Context": Context}
_CONTEXT = "ctx"
"""What everybody calls the ToolContext."""
_RECEIVERS = frozenset({"self", "cls"})
_COLLECTING = frozenset({inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD})


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter that a model fills in."""

    name: str
    hint: Any
    default: Any = NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameters:
    """All of a function's parameters."""

    fillable: tuple[Parameter, ...]
    context: str | None = None
    """The one that takes the `ToolContext`."""
    positional: tuple[str, ...] = ()
    """Those that can only be handed over by position, the context's among them."""
    returns: Any = NONE


def read_parameters(target: Target) -> Parameters:
    """Read the signature and the hints.

    Raises:
        ConfigurationError: A hint cannot be understood, or a parameter can never be filled in.
    """
    hints = _hints(target)
    listed = [
        parameter
        for parameter in _signature(target).parameters.values()
        if parameter.kind not in _COLLECTING and parameter.name not in target.bound
    ]
    _refuse_receiver(listed, hints, target=target)
    contexts = [parameter.name for parameter in listed if _takes_tool_context(hints.get(parameter.name))]
    if len(contexts) > 1:
        raise ConfigurationError(f"{_label(target)} takes the ToolContext twice: {', '.join(contexts)}")
    return Parameters(
        fillable=tuple(
            Parameter(parameter.name, _hint(hints, parameter.name), parameter.default)
            for parameter in listed
            if parameter.name not in contexts
        ),
        context=contexts[0] if contexts else None,
        positional=tuple(p.name for p in listed if p.kind is inspect.Parameter.POSITIONAL_ONLY),
        returns=hints.get("return", NONE),
    )


def _signature(target: Target) -> inspect.Signature:
    try:
        return inspect.signature(target.call)
    except (TypeError, ValueError) as error:
        raise ConfigurationError(f"the parameters of {_label(target)} cannot be read; wrap it in a function") from error


def _hints(target: Target) -> Mapping[str, Any]:
    kept = getattr(target.written, HINTS, None)
    if kept is not None:
        return kept
    try:
        return _read_hints(target.written)
    except Exception as error:
        message = f"a type hint of {_label(target)} cannot be read ({error}); import its name where the function is"
        raise ConfigurationError(message) from error


def _read_hints(function: Any) -> Mapping[str, Any]:
    try:
        return typing.get_type_hints(function, include_extras=True)
    except NameError:
        # Many import the context for type checkers only; it is known here all the same.
        names = {**_OURS, **getattr(function, "__globals__", {})}
        return typing.get_type_hints(function, localns=names, include_extras=True)


def _hint(hints: Mapping[str, Any], name: str) -> Any:
    hint = hints.get(name, Any)
    if hint is Context:
        raise ConfigurationError(f"{name} would let a model say who asks; take a ToolContext and read its .context")
    if name == _CONTEXT and name not in hints:
        raise ConfigurationError(f"{name} has no type hint, so a model would fill it in; write {name}: ToolContext")
    return hint


def _refuse_receiver(listed: list[inspect.Parameter], hints: Mapping[str, Any], *, target: Target) -> None:
    first = listed[0].name if listed else ""
    if first in _RECEIVERS and first not in hints:
        raise ConfigurationError(f"{_label(target)} needs its {first}; add the method of an instance")


def _takes_tool_context(hint: Any) -> bool:
    if typing.get_origin(hint) is typing.Annotated:
        return _takes_tool_context(typing.get_args(hint)[0])
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return any(item is ToolContext for item in typing.get_args(hint))
    return hint is ToolContext


def _label(target: Target) -> str:
    return brief(str(getattr(target.written, "__qualname__", target.name)))
