"""Which type hints are plain JSON: what is validated is the very value the function gets, so once is enough."""

from __future__ import annotations

import types
import typing
from typing import Any, Literal

from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

_SCALARS = (str, int, float, bool, type(None), None)
_PLAIN_LITERALS = (str, int, bool, type(None))
_UNIONS = (typing.Union, types.UnionType)


def is_plain(hint: Any) -> bool:
    """Whether values of this hint are JSON values before and after validation. In doubt, no."""
    if any(hint is known for known in (*_SCALARS, Any, list, dict)):
        return True
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        return is_plain(arguments[0]) and all(_is_constraint(item) for item in arguments[1:])
    if origin is Literal:
        # By exact type: the member of an enum is no text, even where it equals one.
        return all(type(item) in _PLAIN_LITERALS for item in arguments)
    if origin is dict:
        return not arguments or (arguments[0] is str and is_plain(arguments[1]))
    return (origin is list or origin in _UNIONS) and all(is_plain(item) for item in arguments)


def accepts_none(hint: Any) -> bool:
    """Whether None is among the values of this hint."""
    if hint is None or hint is type(None) or hint is Any:
        return True
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        return accepts_none(arguments[0])
    if origin is Literal:
        return None in arguments
    return origin in _UNIONS and any(accepts_none(item) for item in arguments)


def _is_constraint(item: Any) -> bool:
    if isinstance(item, FieldInfo):
        renamed = item.alias or item.validation_alias or item.serialization_alias
        return not renamed and item.default_factory is None and item.default is PydanticUndefined
    return isinstance(item, str) or type(item).__module__.split(".")[0] == "annotated_types"
