"""Schemas and validators from type hints, through pydantic. Loaded with the first tool, because pydantic is heavy.

A validator reads the arguments as JSON, strictly: `True` is no integer and `"1"` no number, but an integer is a
number. Plain JSON types are validated once; what others (models, enums, dates) become is written down again, which is
what is judged, and read from there when the handler needs Python values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import TypeAdapter, ValidationError
from pydantic_core import from_json, to_json

from callgate.adapters.argument_text import whole_numbers, write_arguments
from callgate.adapters.field_hints import make_adapter, read_field
from callgate.adapters.parameters import Parameters
from callgate.adapters.pydantic_faults import explain
from callgate.adapters.pydantic_schema import close, describe
from callgate.adapters.recursion import NO_LIMIT, depth_limit, depth_of
from callgate.adapters.schema_rules import show_hidden
from callgate.adapters.written_values import Write, is_lazy, make_writer
from callgate.errors import InvalidArguments
from callgate.model.canonical import dumps
from callgate.model.tool import Arguments, Validator

_TRIES = 10_000
"""How often one part of the arguments may be tried, where hints offer choices that contain themselves."""
Check = Callable[[bytes], dict[str, Any]]
"""Reads JSON text and gives Python values by parameter name, or raises pydantic's error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """What a function takes."""

    schema: dict[str, Any]
    validator: Validator
    to_python: Callable[[Arguments], dict[str, Any]] | None
    """Final arguments as the values the function wants; None where they already are."""


def compile_signature(parameters: Parameters, *, descriptions: Mapping[str, str], limit: int) -> Signature:
    """Make the schema and the validator of a function.

    Args:
        parameters: What the function takes.
        descriptions: What its docstring says about them, by parameter.
        limit: The largest arguments, in bytes.

    Raises:
        ConfigurationError: A hint has no JSON form, or a default does not fit its own hint.
    """
    fields = [read_field(parameter) for parameter in parameters.fillable]
    adapter, schema = make_adapter({field.name: field.hint for field in fields})
    closed = close(schema)
    describe(schema, {field.key: descriptions[field.name] for field in fields if field.name in descriptions})
    show_hidden(schema)
    if all(field.plain for field in fields):
        return Signature(
            schema=schema, validator=_plain_validator(adapter.validator.validate_json, limit), to_python=None
        )
    check = _shallow_check(_strict_check(adapter, closed=closed), schema)
    write = make_writer(adapter)
    return Signature(
        schema=schema,
        validator=_rich_validator(check, limit, write=write),
        to_python=_converter(check, write, lazy=is_lazy(adapter)),
    )


def _strict_check(adapter: TypeAdapter[Any], *, closed: bool) -> Check:
    """Strict and closed all the way down, whatever the nested models say of themselves."""
    validate = adapter.validator.validate_json
    extra: Literal["forbid"] | None = "forbid" if closed else None
    return lambda text: validate(text, strict=True, extra=extra)


def _shallow_check(check: Check, schema: dict[str, Any]) -> Check:
    """Refuse values so deep that pydantic, trying every branch of a choice on every level, would not come back."""
    deepest = depth_limit(schema, budget=_TRIES, trust_discriminators=True)
    if deepest == NO_LIMIT:
        return check

    def shallow(text: bytes) -> dict[str, Any]:
        # The arguments themselves are the first level.
        if depth_of(from_json(text)) - 1 > deepest:
            raise InvalidArguments(f"The arguments are nested deeper than {deepest} levels, too deep for this tool")
        return check(text)

    return shallow


def _plain_validator(check: Check, limit: int) -> Validator:
    def validate(arguments: Mapping[str, Any], /) -> Arguments:
        text = write_arguments(arguments, limit)
        try:
            return check(text)
        except ValidationError as error:
            return check(_accepted(check, text, error=error))

    return validate


def _rich_validator(check: Check, limit: int, *, write: Write) -> Validator:
    def read(text: bytes) -> dict[str, Any]:
        try:
            return check(text)
        except ValidationError as error:
            return check(_accepted(check, text, error=error))

    def validate(arguments: Mapping[str, Any], /) -> Arguments:
        text = write_arguments(arguments, limit)
        try:
            final = write(lambda: read(text))
            _refuse_otherwise(final, check, write=write)
        except InvalidArguments:
            raise
        except ValidationError as error:
            raise explain(error, from_json(text)) from None
        except Exception as error:
            # An author's own validator broke; an unchecked value does not pass.
            raise InvalidArguments(f"The arguments could not be checked ({type(error).__name__})") from error
        return final

    return validate


def _refuse_otherwise(final: Arguments, check: Check, *, write: Write) -> dict[str, Any]:
    """The values that are read from final arguments.

    Raises:
        InvalidArguments: They are not what the arguments say: what was judged would not be what runs.
    """
    try:
        values = check(to_json(final))
        written = write(lambda: values)
    except ValidationError as error:
        raise explain(error, final) from None
    if dumps(written) != dumps(final):
        raise InvalidArguments("The arguments are read otherwise each time, so what is judged would not be what runs")
    return values


def _converter(check: Check, write: Write, *, lazy: bool) -> Callable[[Arguments], dict[str, Any]]:
    def to_python(arguments: Arguments) -> dict[str, Any]:
        values = _refuse_otherwise(arguments, check, write=write)
        # To write an `Iterable` down is to read it to its end, which can be done once.
        return check(to_json(arguments)) if lazy else values

    return to_python


def _accepted(check: Check, text: bytes, *, error: ValidationError) -> bytes:
    """The text with 1.0 written as 1, if that makes it fit: JSON has one kind of number, and some writers one form.

    Raises:
        InvalidArguments: It does not fit either way.
    """
    arguments = from_json(text)
    whole = whole_numbers(arguments)
    try:
        again = to_json(whole)
        if again == text:
            raise explain(error, arguments) from None
        check(again)
    except ValidationError as fault:
        raise explain(fault, whole) from None
    return again
