"""Defaults of a function whose schema its author wrote: as JSON, so that they are judged and shown with what was sent.

The schema is for what is sent. What the function takes for the rest may break it as a whole: of two that exclude each
other, both have a default. And the function gets its own value back where JSON says it otherwise: a path, not a text.
"""

from __future__ import annotations

import copy
import enum
from collections.abc import Callable, Mapping
from pathlib import PurePath
from typing import Any, cast

from callgate.adapters.parameters import NONE, Parameters
from callgate.model.canonical import NotCanonical, dumps
from callgate.model.tool import Arguments

_SCALARS = (str, int, float, bool, type(None))


def say_defaults(parameters: Parameters, *, only_json: bool) -> dict[str, Any]:
    """The defaults that JSON can say, by parameter.

    Args:
        parameters: What the function takes.
        only_json: Whether to leave out what is not JSON by itself: from another process it does not come back.
    """
    said: dict[str, Any] = {}
    for each in parameters.fillable:
        if each.default is NONE or (only_json and not _is_json(each.default)):
            continue
        try:
            plain = _plainly(each.default)
            dumps(plain)
        except (NotCanonical, RecursionError):
            continue
        said[each.name] = plain
    return said


def give_back(parameters: Parameters, said: Mapping[str, Any]) -> Callable[[Arguments], dict[str, Any]] | None:
    """Puts the function's own value in the place of what stands for it in arguments; None where that is the same."""
    own = {
        each.name: (dumps(said[each.name]), copy.deepcopy(each.default))
        for each in parameters.fillable
        if each.name in said and not _is_json(each.default)
    }

    def to_python(arguments: Arguments) -> dict[str, Any]:
        values = dict(arguments)
        for name, (text, value) in own.items():
            if name in values and dumps(values[name]) == text:
                values[name] = copy.deepcopy(value)
        return values

    return to_python if own else None


def _is_json(value: Any) -> bool:
    """Whether it is JSON by itself; by exact type, as the member of an enum is no text, even where it equals one."""
    if type(value) is list:
        return all(map(_is_json, cast("list[Any]", value)))
    if type(value) is dict:
        return all(map(_is_json, cast("dict[Any, Any]", value).values()))
    return type(value) in _SCALARS


def _plainly(value: Any) -> Any:
    if isinstance(value, enum.Enum):
        return _plainly(value.value)
    if isinstance(value, PurePath):
        return str(value)
    if isinstance(value, (list, tuple)):
        return [_plainly(item) for item in cast("list[Any]", value)]
    if isinstance(value, (set, frozenset)):
        return sorted((_plainly(item) for item in cast("set[Any]", value)), key=dumps)
    if isinstance(value, dict):
        return {key: _plainly(item) for key, item in cast("dict[Any, Any]", value).items()}
    return value
