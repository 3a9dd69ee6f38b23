"""Choices among numbers, taken exactly: pydantic looks choices up as Python does, where `True` equals 1."""

from __future__ import annotations

import enum
import typing
from collections.abc import Sequence
from typing import Annotated, Any, Literal, cast

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, core_schema

_NUMBERS = (int, bool)
_CHOICES = (str, int, bool, type(None))


def exact_choice(hint: Any) -> Any:
    """The hint itself, or an exact one if it is a choice among numbers."""
    if typing.get_origin(hint) is Literal:
        values = typing.get_args(hint)
        return Annotated[hint, _Choices(values)] if _needs_care(values) else hint
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        values = tuple(member.value for member in hint)
        return Annotated[hint, _Choices(values, hint)] if _needs_care(values) else hint
    return cast("Any", hint)


def _needs_care(values: Sequence[Any]) -> bool:
    return all(type(value) in _CHOICES for value in values) and any(type(value) in _NUMBERS for value in values)


class _Choices:
    """Tells pydantic to look at the type first."""

    def __init__(self, values: Sequence[Any], kind: type[enum.Enum] | None = None) -> None:
        self._values = list(values)
        self._kind = kind

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        texts = [value for value in self._values if type(value) not in _NUMBERS]
        branches: list[CoreSchema | tuple[CoreSchema, str]] = [core_schema.literal_schema(texts)] if texts else []
        for kind, shape in ((int, core_schema.int_schema(strict=True)), (bool, core_schema.bool_schema(strict=True))):
            known = [value for value in self._values if type(value) is kind]
            if known:
                branches.append(core_schema.chain_schema([shape, core_schema.literal_schema(known)]))
        schema: CoreSchema = core_schema.custom_error_schema(
            core_schema.union_schema(branches),
            custom_error_type="literal_error",
            custom_error_context={"expected": " or ".join(repr(value) for value in self._values)},
        )
        if self._kind is None:
            return schema
        return core_schema.no_info_after_validator_function(self._kind, schema)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return handler(core_schema.literal_schema(self._values))
