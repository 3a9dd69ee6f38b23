"""The errors of jsonschema-rs in our words. Its own messages quote the value, so none of them is repeated."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from callgate.adapters import faults
from callgate.errors import InvalidArguments

if TYPE_CHECKING:
    from jsonschema_rs import ValidationError

_TYPES = {
    "null": "null",
    "boolean": "a boolean",
    "integer": "an integer",
    "number": "a number",
    "string": "a string",
    "array": "an array",
    "object": "an object",
}
_LIMITS: dict[str, str] = {
    "minimum": "must be at least {}",
    "maximum": "must be at most {}",
    "exclusiveMinimum": "must be greater than {}",
    "exclusiveMaximum": "must be less than {}",
    "multipleOf": "must be a multiple of {}",
    "minLength": "must have at least {} characters",
    "maxLength": "must have at most {} characters",
    "minItems": "must have at least {} items",
    "maxItems": "must have at most {} items",
    "minProperties": "must have at least {} properties",
    "maxProperties": "must have at most {} properties",
    "pattern": "must match the pattern {}",
    "format": "must be a valid {}",
    "const": "must be {}",
}
_RULES: dict[str, str] = {
    "uniqueItems": "must have no item twice",
    "contains": "lacks an item that must be there",
    "not": "has a form that is not allowed",
    "falseSchema": "is not allowed",
    "propertyNames": "has a property whose name is not allowed",
}
_CHOICES = 20


def explain(errors: Iterable[ValidationError]) -> InvalidArguments:
    """Every fault of the arguments, as one error."""
    return faults.invalid(tell(errors))


def tell(errors: Iterable[ValidationError]) -> list[str]:
    """Every fault in words, as many as are told at all."""
    # One more than is told, so that it shows that there are more.
    return [words for error in itertools.islice(errors, faults.MOST + 1) for words in _tell(error)]


def _tell(error: ValidationError) -> list[str]:
    path, name, value = error.instance_path, error.kind.name, error.kind.value
    if name == "required":
        return [faults.missing([*path, value])]
    if name in ("additionalProperties", "unevaluatedProperties"):
        return [faults.unknown([*path, unexpected]) for unexpected in value]
    if name == "type":
        return [faults.mistyped(path, error.instance, expected=_expected(error))]
    if name in ("anyOf", "oneOf"):
        return _tell_choice(error)
    return [faults.unfit(path, _rule(name, value))]


def _rule(name: str, value: Any) -> str:
    if name == "enum":
        more = ", …" if len(value) > _CHOICES else ""
        return f"must be one of {', '.join(repr(choice) for choice in value[:_CHOICES])}{more}"
    if name in _LIMITS:
        return _LIMITS[name].format(repr(value) if name in ("const", "pattern") else value)
    return _RULES.get(name, f"does not fit the schema ({name})")


def _tell_choice(error: ValidationError) -> list[str]:
    """Where some branch admits the type, its own faults; else all the types that would do."""
    path = error.instance_path
    branches: list[list[ValidationError]] = error.kind.value
    if not all(branches):
        return [faults.unfit(path, "fits more than one of the allowed forms")]
    near = [branch for branch in branches if not any(_is_mistyped(inner, path) for inner in branch)]
    if near:
        return [words for branch in near for inner in branch for words in _tell(inner)]
    mistyped = [inner for branch in branches for inner in branch if _is_mistyped(inner, path)]
    return [faults.mistyped(path, error.instance, expected=[kind for inner in mistyped for kind in _expected(inner)])]


def _is_mistyped(error: ValidationError, path: list[str | int]) -> bool:
    return error.kind.name == "type" and error.instance_path == path


def _expected(error: ValidationError) -> list[str]:
    words: list[str] = error.kind.value
    return [_TYPES.get(word, word) for word in words]
