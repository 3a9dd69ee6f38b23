"""Agreement: whether the parameters of a manifest are those of the function behind it. Pure."""

from __future__ import annotations

import types
import typing
from collections.abc import Iterator, Mapping
from typing import Any, cast

from callgate.adapters.parameters import NONE, Parameter

_TYPES: Mapping[Any, frozenset[str]] = {
    str: frozenset({"string"}),
    int: frozenset({"integer"}),
    float: frozenset({"number", "integer"}),
    bool: frozenset({"boolean"}),
    list: frozenset({"array"}),
    dict: frozenset({"object"}),
    type(None): frozenset({"null"}),
}
_ALL = frozenset({"string", "integer", "number", "boolean", "array", "object", "null"})


def disagreements(said: Mapping[str, Mapping[str, Any]], has: tuple[Parameter, ...], *, takes_more: bool) -> list[str]:
    """Where a manifest and a function differ, each in one sentence; nothing when every call that fits one fits both.

    Args:
        said: The manifest's parameters.
        has: The function's.
        takes_more: Whether the function also takes names that it does not list.
    """
    known = {parameter.name: parameter for parameter in has}
    found = [f"{name} is no parameter of the function" for name in said if name not in known and not takes_more]
    for name, parameter in known.items():
        found.extend(_differ(said.get(name), parameter))
    return found


def is_required(schema: Mapping[str, Any]) -> bool:
    """Whether a parameter of a manifest must be given: it says so, or says nothing and has no default."""
    stated = schema.get("required")
    return stated if isinstance(stated, bool) else "default" not in schema


def _differ(schema: Mapping[str, Any] | None, parameter: Parameter) -> Iterator[str]:
    optional = parameter.default is not NONE
    if schema is None:
        if not optional:
            yield f"the function needs {parameter.name}, which the manifest does not have"
        return
    if not optional and not is_required(schema) and "default" not in schema:
        yield f"the function needs {parameter.name}, which the manifest says may be left out"
    takes, gives = _taken(parameter.hint), _given(schema)
    if takes is None:
        yield f"{parameter.name} is more than JSON in the function; leave `parameters` out, and the code's hints count"
    elif not gives <= takes:
        yield f"{parameter.name} is {_words(gives)} in the manifest and {_words(takes)} in the function"


def _given(schema: Mapping[str, Any]) -> frozenset[str]:
    """The types a manifest promises; none when it says nothing that can be compared."""
    kind: Any = schema.get("type")
    kinds = [kind] if isinstance(kind, str) else cast("list[Any]", kind) if isinstance(kind, list) else []
    return frozenset(item for item in kinds if isinstance(item, str) and item in _ALL)


def _taken(hint: Any) -> frozenset[str] | None:
    """The JSON types a hint admits; None if it asks for something JSON does not have."""
    if hint is Any or isinstance(hint, typing.TypeVar):
        return _ALL
    origin = typing.get_origin(hint)
    if origin is typing.Annotated:
        return _taken(typing.get_args(hint)[0])
    if origin is typing.Literal:
        kinds = [_TYPES.get(type(value)) for value in typing.get_args(hint)]
    elif origin in (typing.Union, types.UnionType):
        kinds = [_taken(inner) for inner in typing.get_args(hint)]
    else:
        kinds = [_TYPES.get(origin or hint)]
    known = [kind for kind in kinds if kind is not None]
    return frozenset[str]().union(*known) if len(known) == len(kinds) else None


def _words(kinds: frozenset[str]) -> str:
    return " or ".join(sorted(kinds))
