"""Pydantic's errors in our words. Pydantic's own messages may quote the value, so only known ones are repeated."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from callgate.adapters import faults
from callgate.errors import InvalidArguments

_MISSING = frozenset({"missing", "missing_argument", "missing_keyword_only_argument"})
_UNKNOWN = frozenset({"extra_forbidden", "unexpected_keyword_argument"})
_TYPES = {
    "int_type": "an integer",
    "float_type": "a number",
    "string_type": "a string",
    "bool_type": "a boolean",
    "none_required": "null",
    **dict.fromkeys(
        ("list_type", "set_type", "frozen_set_type", "tuple_type", "iterable_type", "arguments_type"), "an array"
    ),
    **dict.fromkeys(
        ("dict_type", "mapping_type", "model_type", "model_attributes_type", "dataclass_type"), "an object"
    ),
}
_QUOTING_NO_VALUE = frozenset(
    {
        "literal_error", "enum", "greater_than", "greater_than_equal", "less_than", "less_than_equal", "multiple_of",
        "finite_number", "string_too_short", "string_too_long", "string_pattern_mismatch", "too_short", "too_long",
    }
)  # fmt: skip
_MANY = 1000


def explain(error: ValidationError, arguments: Mapping[str, Any]) -> InvalidArguments:
    """Every fault of the arguments, as one error."""
    if error.error_count() > _MANY:
        return faults.invalid(("The arguments are not valid",), more=error.error_count())
    told: dict[object, str] = {}
    kinds: dict[tuple[str | int, ...], list[str]] = {}
    for number, detail in enumerate(error.errors(include_url=False)):
        path = _path(detail, arguments)
        if detail["type"] in _TYPES:
            # A union says once per member what it is not.
            kinds.setdefault(path, []).append(_TYPES[detail["type"]])
            told[path] = faults.mistyped(path, detail["input"], expected=kinds[path])
        else:
            told[number] = _tell(detail, path)
    return faults.invalid(told.values())


def _tell(detail: ErrorDetails, path: tuple[str | int, ...]) -> str:
    if detail["type"] in _MISSING:
        return faults.missing(path)
    if detail["type"] in _UNKNOWN:
        return faults.unknown(path)
    words = detail["msg"]
    if detail["type"] not in _QUOTING_NO_VALUE:
        words = faults.strike(words.removeprefix("Value error, ").removeprefix("Assertion failed, "), detail["input"])
    if words == faults.NO_WORDS:
        return faults.unfit(path, words)
    _, should, rule = words.partition(" should ")
    return faults.unfit(path, f"must {rule}" if should else f"is not valid: {words}")


def _path(detail: ErrorDetails, arguments: Mapping[str, Any]) -> tuple[str | int, ...]:
    """The place in the arguments; names of union members and validators that pydantic puts between are left out."""
    path: list[str | int] = []
    place: Any = arguments
    for index, step in enumerate(detail["loc"]):
        if (isinstance(place, dict) and step in place) or (isinstance(place, list) and isinstance(step, int)):
            place = cast("Any", place)[step]
            path.append(step)
        elif index == len(detail["loc"]) - 1 and detail["type"] in _MISSING:
            path.append(step)
    return tuple(path)
