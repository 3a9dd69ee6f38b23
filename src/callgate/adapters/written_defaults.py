"""Defaults of models, as they are written: what stands in a field that nobody gave was never read by its hint.

Authors write them loosely (`amount: Decimal = 0`) or on purpose outside of what may be sent (`tag: str = Field("",
min_length=1)`). So each is read once by its own hint. What comes of it is what is judged and what runs; one that does
not fit stays its author's constant, as a function's own default does, and nobody is blamed for it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, cast

from pydantic_core import SchemaSerializer, SchemaValidator, core_schema, from_json, to_json, to_jsonable_python

from callgate.adapters.argument_text import whole_numbers
from callgate.model.canonical import dumps

_AS_IT_IS = frozenset({(str, "str"), (int, "int"), (bool, "bool"), (float, "float"), (type(None), "nullable")})
"""Defaults that are what their hint says, where it asks for nothing more. Infinity is looked at by itself."""
_STARS = b"**********"
"""What pydantic shows of a secret."""
_SAYS_NOTHING = frozenset({"type", "schema", "metadata"})


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """What a part of a schema needs to be read and written alone."""

    definitions: list[Any]
    """Of the whole schema; complete once all of it is rewritten."""
    config: Mapping[str, Any]

    def alone(self, schema: Any) -> Any:
        """The part, with all that it may refer to."""
        return core_schema.definitions_schema(schema, self.definitions) if self.definitions else schema


def write_default(field: dict[str, Any], around: Surroundings) -> None:
    """Have a field of a rewritten schema write its default as its hint reads it, or not at all."""
    inner = field.get("schema", {})
    if inner.get("type") != "default" or "default" not in inner or _is_plain(inner, around.config):
        return
    constant = _Constant(inner, around)
    field["serialization_exclude_if"] = constant.cannot_be_said
    way = core_schema.wrap_serializer_function_ser_schema(constant.write, schema=inner)
    field["schema"] = {**inner, "serialization": way}


def _is_plain(schema: dict[str, Any], config: Mapping[str, Any]) -> bool:
    default, hint = schema["default"], schema["schema"]
    known = (type(default), hint.get("type")) in _AS_IT_IS and "serialization" not in schema
    if not known or not hint.keys() <= _SAYS_NOTHING or isinstance(default, float):
        return False
    return default is None or not any(key.startswith("str_") for key in config)


class _Constant:
    """One default. It is read when it is first needed: models may refer to each other."""

    def __init__(self, schema: dict[str, Any], around: Surroundings) -> None:
        self._default = schema["default"]
        self._schema = schema
        self._around = around
        self._copied = not _has_hash(self._default)

    def cannot_be_said(self, value: Any) -> bool:
        return self._is_it(value) and self._said is None

    def write(self, value: Any, write: Callable[[Any], Any]) -> Any:
        return from_json(self._said) if self._is_it(value) and self._said is not None else write(value)

    def _is_it(self, value: Any) -> bool:
        # Pydantic hands out a copy of what has no hash.
        return value is self._default or (self._copied and _is_same(value, self._default))

    @functools.cached_property
    def _said(self) -> bytes | None:
        """The default as JSON, as its hint reads it; None where it does not."""
        with suppress(Exception):  # whatever goes wrong, it is no value of this hint
            schema, config = self._around.alone(self._schema), cast("Any", self._around.config)
            write = functools.partial(_write, SchemaSerializer(schema, config, _use_prebuilt=False))
            read = _read(SchemaValidator(schema, config), self._plainly(write))
            said = write(read)
            dumps(said)  # infinity is a number for pydantic, and none for JSON
            return None if _is_secret(read, said) else to_json(said)
        return None

    def _plainly(self, write: Callable[[Any], Any]) -> Any:
        try:
            return write(self._default)
        except Exception:  # noqa: BLE001 - what its hint would write is something else: a text in place of a secret
            return to_jsonable_python(self._default)


def _read(validator: SchemaValidator, value: Any) -> Any:
    try:
        return validator.validate_json(to_json(value), strict=True)
    except ValueError:
        return validator.validate_json(to_json(whole_numbers(value)), strict=True)


def _write(serializer: SchemaSerializer, value: Any) -> Any:
    return serializer.to_python(value, mode="json", by_alias=True, round_trip=True, warnings=False)


def _is_secret(value: Any, said: Any) -> bool:
    """Whether there is something in it that its type hides; a secret that is sent is an argument like others."""
    return _STARS in to_json(value, serialize_unknown=True) and _STARS not in to_json(said)


def _has_hash(value: Any) -> bool:
    try:
        hash(value)
    except Exception:  # noqa: BLE001 - then it has none, whatever it says
        return False
    return True


def _is_same(value: Any, default: Any) -> bool:
    """Whether it is the default's copy: equal, and of the same types all the way down, as 1 and True are not."""
    if type(value) is not type(default):
        return False
    if isinstance(default, dict):
        named = cast("dict[Any, Any]", default)
        return value.keys() == named.keys() and all(_is_same(value[name], item) for name, item in named.items())
    if isinstance(default, (list, tuple)):
        items = cast("list[Any]", default)
        return len(value) == len(items) and all(map(_is_same, value, items))
    try:
        return bool(value == default)
    except Exception:  # noqa: BLE001 - an array compares each of its values
        return False
