"""Values as they are written down again: what pydantic made of the arguments, as JSON by the names of their schema.

What is judged, shown and approved has to be what runs. So defaults, tidied texts and second names are put into the
arguments before anybody looks at them, and the handler gets what is read from exactly that.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

from pydantic import TypeAdapter, ValidationError
from pydantic_core import SchemaSerializer, core_schema

from callgate.adapters.core_parts import HAVE_FIELDS, PARTS, change_parts, has_type
from callgate.adapters.written_defaults import Surroundings, write_default
from callgate.errors import ConfigurationError, InvalidArguments
from callgate.model.canonical import dumps
from callgate.model.tool import Arguments

Read = Callable[[], Mapping[str, Any]]
Write = Callable[[Read], Arguments]
"""Writes the values that it reads: twice, where the first way to write them does not work."""

_SETS = frozenset({"set", "frozenset"})
_ONLY_WRITING = frozenset({"computed_fields", "serialization_exclude", "serialization_exclude_if"})


def make_writer(adapter: TypeAdapter[Any], *, without: Collection[str] = ()) -> Write:
    """How the values of an adapter are written.

    Args:
        adapter: What reads them.
        without: Fields that are left out, whatever is in them.

    Raises:
        ConfigurationError: A field takes its value from a place inside of another, so that it has no name.
    """
    plainly = _serializer(adapter, authors_way=False)
    as_told = _serializer(adapter, authors_way=True)

    lazy = is_lazy(adapter)
    exclude = set(without)

    def write(read: Read) -> Arguments:
        values = read()
        try:
            return _write(plainly, values, exclude=exclude)
        except Exception:  # noqa: BLE001 - the second try has the last word
            # A type of the author's own, which only its author can write.
            values = read() if lazy else values
        try:
            return _write(as_told, values, exclude=exclude)
        except ValidationError:
            raise
        except Exception as error:
            message = f"The arguments have a value that cannot be written as JSON ({type(error).__name__})"
            raise InvalidArguments(message) from error

    return write


def is_lazy(adapter: TypeAdapter[Any]) -> bool:
    """Whether there is an `Iterable` in its values, which is checked while it is read, and can be read once."""
    return has_type(adapter.core_schema, "generator")


def _write(serializer: SchemaSerializer, values: Mapping[str, Any], *, exclude: set[str]) -> Arguments:
    return serializer.to_python(values, mode="json", exclude=exclude, by_alias=True, round_trip=True, warnings=False)


def _reveal(value: Any) -> Any:
    # What a caller sent in a SecretStr is an argument like others; a masked one would reach the handler as stars.
    return value.get_secret_value()


@dataclass(frozen=True, kw_only=True)
class _Way(Surroundings):
    authors_way: bool


def _serializer(adapter: TypeAdapter[Any], *, authors_way: bool) -> SchemaSerializer:
    way = _Way(authors_way=authors_way, definitions=[], config={})
    schema = _rewritten(adapter.core_schema, way)
    way.definitions.extend(schema.get("definitions", ()))
    # Models bring serializers of their own, which would be used in place of what is written here.
    return SchemaSerializer(schema, _use_prebuilt=False)


def _rewritten(schema: Any, way: _Way) -> Any:
    made = {key: value for key, value in schema.items() if key not in _ONLY_WRITING}
    if isinstance(made.get("config"), dict):
        made["config"] = _read_as_written(made["config"])
        way = replace(way, config=made["config"])
    for key in PARTS & made.keys():
        made[key] = change_parts(made[key], partial(_rewritten, way=way))
    serialization = _way_to_write(made.pop("serialization", None), authors_way=way.authors_way)
    made.update({} if serialization is None else {"serialization": serialization})
    if made.get("type") in _SETS:
        made["serialization"] = core_schema.wrap_serializer_function_ser_schema(_in_order)
    if made.get("type") in HAVE_FIELDS:
        _name_fields(made["fields"], way)
    return made


def _way_to_write(given: dict[str, Any] | None, *, authors_way: bool) -> Any:
    """How a type is written; how its author wants to show it counts only where there is no other way."""
    function = None if given is None else given.get("function")
    if "secret" in getattr(function, "__qualname__", ""):
        return core_schema.plain_serializer_function_ser_schema(_reveal, when_used="unless-none")
    own = str(getattr(function, "__module__", "")).partition(".")[0] == "pydantic"
    return given if function is None or own or authors_way else None


def _in_order(values: Any, write: Callable[[Any], Any]) -> list[Any]:
    # A set has none, and another in the next process: the same call has to be the same text.
    return sorted(write(values), key=dumps)


def _name_fields(fields: dict[str, Any] | list[Any], way: _Way) -> None:
    named = fields.items() if isinstance(fields, dict) else ((field["name"], field) for field in fields)
    for name, field in named:
        _write_field(name, field)
        write_default(field, way)


def _write_field(name: str, field: dict[str, Any]) -> None:
    if field.get("init_only"):
        message = f"{name} is for making an object and is not kept in it (InitVar), so nobody could be shown what it is"
        raise ConfigurationError(f"{message}; make it a field")
    if field.get("init") is False:  # the object makes it by itself, and nobody may give it
        field["serialization_exclude"] = True
    field["serialization_alias"] = _name_in_schema(name, field.get("validation_alias"))


def _name_in_schema(name: str, alias: Any) -> str:
    """The first of several names stands in the schema."""
    if alias is None or isinstance(alias, str):
        return alias or name
    for path in cast("list[Any]", alias):
        steps = cast("list[Any]", path) if isinstance(path, list) else [path]
        if len(steps) == 1 and (isinstance(path, list) or len(alias) == 1):
            return steps[0]
    message = (
        f"{name} is taken from inside of another value (AliasPath), so it has no name that a policy could speak of"
    )
    raise ConfigurationError(f"{message}; give it a name with Field(alias=…)")


def _read_as_written(config: dict[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in config.items() if not key.startswith("ser_json_")}
    if "val_json_bytes" in config:
        kept["ser_json_bytes"] = config["val_json_bytes"]
    return kept
