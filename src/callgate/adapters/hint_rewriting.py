"""Hints as pydantic needs them: choices among numbers exact, and the standard library's TypedDict readable.

Only hints are looked through, not the fields of an author's own models: those keep their author's rules.
"""

from __future__ import annotations

import sys
import types
import typing
from typing import Annotated, Any, NotRequired, Required, Union, cast

import typing_extensions

from callgate.adapters.choices import exact_choice

_UNIONS = (Union, types.UnionType)
_QUALIFIERS = (Required, NotRequired, typing_extensions.Required, typing_extensions.NotRequired)


def rewrite(hint: Any) -> Any:
    """The hint, rewritten where pydantic would take it otherwise than it is meant."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is Annotated:
        return Annotated[(rewrite(arguments[0]), *arguments[1:])]
    if origin in _UNIONS:
        return Union[tuple(rewrite(item) for item in arguments)]  # noqa: UP007 - a value, not a hint
    if origin in (list, set, frozenset, dict) and arguments:
        return cast("Any", origin)[tuple(rewrite(item) for item in arguments)]
    if sys.version_info < (3, 12) and typing.is_typeddict(hint) and type(hint).__module__ == "typing":
        return _readable(hint)
    return exact_choice(hint)


def _readable(shape: Any) -> Any:
    """Before Python 3.12 pydantic reads only the TypedDict of typing_extensions."""
    fields: dict[str, Any] = {}
    for name, hint in typing.get_type_hints(shape, include_extras=True).items():
        bare = typing.get_args(hint)[0] if typing.get_origin(hint) in _QUALIFIERS else hint
        # A shape that contains itself stays as it is, and is refused with pydantic's own advice.
        inner = bare if shape in (bare, *typing.get_args(bare)) else rewrite(bare)
        fields[name] = inner if name in shape.__required_keys__ else NotRequired[inner]
    made = cast("Any", typing_extensions.TypedDict)(shape.__name__, fields)
    made.__doc__ = shape.__doc__
    return made
