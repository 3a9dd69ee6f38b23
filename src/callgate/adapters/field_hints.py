"""Parameters as pydantic fields: which hint stands in the schema, and which default JSON can say."""

from __future__ import annotations

import contextlib
import typing
from dataclasses import dataclass
from typing import Annotated, Any, NotRequired, Optional, cast

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined, from_json, to_json
from typing_extensions import TypedDict

from callgate.adapters.argument_text import whole_numbers
from callgate.adapters.hint_rewriting import rewrite
from callgate.adapters.parameters import NONE, Parameter
from callgate.adapters.plain import accepts_none, is_plain
from callgate.adapters.pydantic_schema import make_schema
from callgate.adapters.schema_walk import Schema
from callgate.errors import ConfigurationError


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldHint:
    """One parameter, ready for the schema."""

    name: str
    key: str
    """Its name in the arguments, where the author gave another (`Field(alias="from")`)."""
    hint: Any
    plain: bool
    """Whether what is validated is what the function gets."""
    default: bytes | None = None
    """As JSON text; None when there is none, or none that JSON can say."""


def read_field(parameter: Parameter) -> FieldHint:
    """Work out hint and default of one parameter.

    Raises:
        ConfigurationError: The default given in a `Field` does not fit the hint.
    """
    info = _field_info(parameter)
    hint = rewrite(parameter.hint)
    if isinstance(parameter.default, FieldInfo):
        hint = Annotated[hint, info]
    key = _key(parameter, info)
    plain = is_plain(parameter.hint) and key == parameter.name and not (info and info.default_factory)
    value = _default_of(parameter, info)
    if value is NONE:
        return FieldHint(name=parameter.name, key=key, hint=hint, plain=plain)
    if value is None and not accepts_none(parameter.hint):
        hint = Optional[hint]  # noqa: UP045 - a value, not a hint
    said = _said_default({key: hint}, value)
    if said is not None:
        value, text = said
        hint = Annotated[hint, Field(default=value)]
        return FieldHint(name=parameter.name, key=key, hint=hint, plain=plain, default=text)
    if parameter.default is NONE or isinstance(parameter.default, FieldInfo):
        raise ConfigurationError(f"the default of {parameter.name} does not fit its own hint")
    # The function's own default speaks when nothing is given.
    return FieldHint(name=parameter.name, key=key, hint=NotRequired[hint], plain=plain)


def make_adapter(fields: dict[str, Any]) -> tuple[TypeAdapter[Any], Schema]:
    """An adapter for an object with these fields and no others, strict, and its schema.

    Raises:
        ConfigurationError: A hint has no JSON form; names the parameter.
    """
    try:
        adapter = _adapt(fields)
        return adapter, make_schema(adapter)
    except ConfigurationError:
        raise
    except Exception as error:
        name = next((name for name, hint in fields.items() if not _has_schema(hint)), ", ".join(fields))
        reason = str(error).splitlines()[0]
        raise ConfigurationError(f"no schema can be made from the hint of {name}: {reason}") from error


def _adapt(fields: dict[str, Any]) -> TypeAdapter[Any]:
    shape = cast("Any", TypedDict("arguments", fields))  # pyright: ignore[reportArgumentType, reportGeneralTypeIssues]
    shape.__pydantic_config__ = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)
    return TypeAdapter(shape)


def _has_schema(hint: Any) -> bool:
    try:
        make_schema(_adapt({"value": hint}))
    except Exception:  # noqa: BLE001 - that is the answer
        return False
    return True


def _field_info(parameter: Parameter) -> FieldInfo | None:
    """What `Field(...)` says, in place of a default or beside the hint."""
    if isinstance(parameter.default, FieldInfo):
        return parameter.default
    metadata: tuple[Any, ...] = ()
    if typing.get_origin(parameter.hint) is Annotated:
        metadata = typing.get_args(parameter.hint)[1:]
    return next((item for item in reversed(metadata) if isinstance(item, FieldInfo)), None)


def _key(parameter: Parameter, info: FieldInfo | None) -> str:
    alias = (info.validation_alias or info.alias) if info else None
    if alias is not None and not isinstance(alias, str):
        raise ConfigurationError(f"{parameter.name} can have one name only, not an AliasChoices or AliasPath")
    return alias or parameter.name


def _default_of(parameter: Parameter, info: FieldInfo | None) -> Any:
    if parameter.default is not NONE and not isinstance(parameter.default, FieldInfo):
        return parameter.default
    if info is None or info.default is PydanticUndefined or info.default is ...:
        return NONE
    return info.default


def _said_default(field: dict[str, Any], value: Any) -> tuple[Any, bytes] | None:
    """The default and its JSON, if it comes back from there as it was; a masked secret, for one, does not.

    One that is written loosely (`folder: Path = "."`, `count: int = 1e6`) becomes what its hint says: a default that
    nobody sees is one that nobody judges.
    """
    with contextlib.suppress(Exception):  # whatever goes wrong, JSON cannot say it
        text = to_json(value, inf_nan_mode="null")
        if to_json(value, inf_nan_mode="constants") != text:
            return None
        try:
            read = _read(field, text)
        except ValidationError:
            read = _read(field, to_json(whole_numbers(from_json(text))))
        else:
            if bool(read == value):
                # Equal is not yet the same: 100 is equal to Decimal(100) and to 100.0, which JSON says otherwise.
                written = to_json(read)
                return (value, text) if written == text else (read, written)
        if bool(from_json(text) != _as_json(value)) or next(iter(field.values())) is Any:
            return None
        written = to_json(read)
        return (read, written) if bool(_read(field, written) == read) else None
    return None


def _as_json(value: Any) -> Any:
    return [_as_json(item) for item in cast("list[Any]", value)] if isinstance(value, (list, tuple)) else value


def _read(field: dict[str, Any], text: bytes) -> Any:
    (key,) = field
    (value,) = _adapt(field).validator.validate_json(b"{%s:%s}" % (to_json(key), text), strict=True).values()
    return value
