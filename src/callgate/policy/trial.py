"""Trial: whether a condition could ever be judged for calls of a tool, tried with arguments made up from its schema."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from callgate.model.context import Context
from callgate.model.tool import Tool
from callgate.policy.conditions import Condition, Subject, named_arguments

_TEXTS = ("a", "1", "1.5", "2026-01-01T00:00:00Z", "90s")
_TRIES = len(_TEXTS)
_PLAIN: Mapping[str, tuple[Any, ...]] = {
    "string": _TEXTS,
    "integer": (1,),
    "number": (1.5, 1),
    "boolean": (True, False),
    "null": (None,),
}
_DEEPEST = 5
_CONTEXTS = (
    Context(),
    Context(user="a", session="a", scopes=frozenset({"fs:read"}), task_id="a", step_id="a", intent="a"),
)


class _Untold(Exception):
    """The schema does not say plainly what a value is."""


def why_never_judged(condition: Condition, tool: Tool) -> str:
    """Why no call of the tool can be judged by the condition; nothing where one can, or where nobody can tell."""
    notes: list[str] = []
    for turn in range(_TRIES):
        try:
            arguments = _sample(tool.input_schema, turn)
        except _Untold:
            return ""
        if not set(named_arguments(condition.source)) <= arguments.keys():
            return ""
        for context in _CONTEXTS:
            held = condition.holds(Subject(tool, arguments, context))
            # A key that is missing, or a division by nothing, is of these values: others may do.
            if held.certain or not held.by_type:
                return ""
            notes.append(held.note)
    return notes[0]


def _sample(schema: Any, turn: int, *, depth: int = 0) -> Any:
    """A value that the schema would take, another one in each turn."""
    if depth > _DEEPEST or not isinstance(schema, dict):
        raise _Untold
    schema = cast("dict[str, Any]", schema)
    if schema.get("enum"):
        return _turned(schema["enum"], turn)
    choices = schema.get("anyOf") or schema.get("oneOf")
    if choices:
        return _sample(_turned(choices, turn), turn, depth=depth + 1)
    kind = schema.get("type")
    kind = _turned(cast("list[Any]", kind), turn) if isinstance(kind, list) else kind
    if kind == "array":
        return [_sample(schema.get("items"), turn, depth=depth + 1)]
    if kind == "object":
        parts = cast("dict[str, Any]", schema.get("properties", {}))
        if depth and schema.get("additionalProperties", not parts):
            raise _Untold
        return {name: _sample(part, turn, depth=depth + 1) for name, part in parts.items()}
    if kind not in _PLAIN:
        raise _Untold
    return _turned(_PLAIN[kind], turn)


def _turned(values: Any, turn: int) -> Any:
    return values[turn % len(values)]
