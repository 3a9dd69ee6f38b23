"""Telling apart what a model or a tool wrote: values of unknown shape, seen as what they are."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, cast

MORE_PROPERTIES = frozenset({"patternProperties", "$ref", "allOf", "anyOf", "oneOf", "if", "dependentSchemas"})
"""Of a JSON Schema: what may say more of an object than its `properties`, also where it rules others out."""
_SCALARS = frozenset({str, int, float, bool, type(None)})


def own_copy(arguments: dict[str, Any]) -> dict[str, Any]:
    """Arguments for a tool's own function: what it changes must change nothing that was judged, shown or recorded."""
    return dict(arguments) if _SCALARS.issuperset(map(type, arguments.values())) else copy.deepcopy(arguments)


def copy_of(output: Any) -> Any:
    """An output for a tool's own function: what it changes must not change the answer. What has no copy, as it is."""
    try:
        return copy.deepcopy(output)
    except Exception:  # noqa: BLE001 - an output may be of anybody's class
        return output


def as_mapping(value: Any) -> Mapping[Any, Any] | None:
    """The value as a mapping, or None if it is none."""
    if type(value) is dict:  # mostly, and many times cheaper to ask
        return value  # pyright: ignore[reportUnknownVariableType]
    return cast("Mapping[Any, Any]", value) if isinstance(value, Mapping) else None


def as_sequence(value: Any) -> list[Any] | None:
    """The value's items as a list if it is a list, tuple or set, else None."""
    return list(cast("list[Any]", value)) if isinstance(value, list | tuple | set | frozenset) else None
