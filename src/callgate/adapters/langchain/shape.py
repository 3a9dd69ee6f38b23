"""The arguments of a LangChain tool: the schema a model may see, and what only its caller may set.

LangChain hides injected arguments from the schema and takes them all the same when they are given. Here they are
refused: what a model was not shown, a model cannot set.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from callgate.adapters import faults
from callgate.errors import ConfigurationError
from callgate.model.shapes import as_mapping
from callgate.model.tool import Arguments, Validator

_OPEN = frozenset({"additionalProperties", "unevaluatedProperties", "patternProperties"})
_COMBINED = frozenset({"$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "if", "dependentSchemas"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What a tool takes."""

    schema: dict[str, Any]
    """As the tool gives it, without what is injected."""
    injected: frozenset[str] = frozenset()
    """Arguments that are no business of a model."""
    needed: frozenset[str] = frozenset()
    """Those among them that the tool cannot do without, and that are not the id of the call."""
    call_ids: frozenset[str] = frozenset()
    """Those among them that are the id of the call."""


def read_shape(tool: Any) -> Shape:
    """The shape of a LangChain tool.

    Raises:
        ConfigurationError: It cannot say what it takes.
    """
    try:
        return _read(tool)
    except Exception as error:
        raise ConfigurationError(f"its arguments cannot be read ({type(error).__name__})") from error


def hold_to(shape: Shape, validate: Validator) -> Validator:
    """The validator, and that no argument is given which a model was not shown."""
    shown = cast("Mapping[str, Any]", shape.schema.get("properties", {}))
    closed = bool(shape.injected) or not shape.schema.keys() & (_OPEN | _COMBINED)

    def held(arguments: Mapping[str, Any], /) -> Arguments:
        others = [name for name in as_mapping(arguments) or () if name not in shown] if closed else []
        if others:
            raise faults.invalid(faults.unknown([str(name)]) for name in others)
        return validate(arguments)

    return held


def _read(tool: Any) -> Shape:
    own = tool.args_schema
    if isinstance(own, dict):
        return Shape(schema=cast("dict[str, Any]", own))
    if own is None and _takes_one_text(tool):
        properties = dict(tool.args)
        return Shape(schema={"type": "object", "properties": properties, "required": list(properties)})
    whole, shown = tool.get_input_schema(), tool.tool_call_schema
    fields = _fields(whole)
    injected = frozenset(fields.keys() - _fields(shown).keys())
    call_ids = frozenset(name for name in injected if _is_call_id(fields[name]))
    needed = frozenset(name for name in injected - call_ids if _is_required(fields[name]))
    # LangChain's view for models loses aliases and how a model is configured, so it stands only where it must.
    schema = _json_schema(shown if injected else whole)
    return Shape(schema=schema, injected=injected, needed=needed, call_ids=call_ids)


def _takes_one_text(tool: Any) -> bool:
    from langchain_core.tools import Tool  # noqa: PLC0415 - loaded with the first of its tools

    return isinstance(tool, Tool)


def _json_schema(model: Any) -> dict[str, Any]:
    """Of a model of pydantic 2, or of its version 1."""
    return model.model_json_schema() if hasattr(model, "model_json_schema") else model.schema()


def _fields(model: Any) -> dict[str, Any]:
    return dict(model.model_fields if hasattr(model, "model_fields") else model.__fields__)


def _is_required(field: Any) -> bool:
    return bool(field.is_required() if hasattr(field, "is_required") else field.required)


def _is_call_id(field: Any) -> bool:
    from langchain_core.tools import InjectedToolCallId  # noqa: PLC0415 - as above

    marks = cast("Iterable[Any]", getattr(field, "metadata", ()))
    return any(
        isinstance(mark, InjectedToolCallId) or (isinstance(mark, type) and issubclass(mark, InjectedToolCallId))
        for mark in marks
    )
