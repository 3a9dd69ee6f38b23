"""The parts of pydantic's own schemas: where in one there are others. Everything else in it is an author's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

PARTS = frozenset(
    {
        "arguments_schema",
        "choices",
        "definitions",
        "extras_keys_schema",
        "extras_schema",
        "fields",
        "items_schema",
        "json_schema",
        "json_schema_input_schema",
        "keys_schema",
        "lax_schema",
        "python_schema",
        "return_schema",
        "schema",
        "steps",
        "strict_schema",
        "values_schema",
        "var_args_schema",
        "var_kwargs_schema",
    }
)
"""Keys that stand for a schema, a field, or several of them: in a list, or by the names that their author chose."""
HAVE_FIELDS = frozenset({"model-fields", "typed-dict", "dataclass-args"})
"""Types of schemas whose fields have names of their own in JSON."""


def change_parts(found: Any, change: Callable[[dict[str, Any]], Any]) -> Any:
    """What stands under such a key, with each schema in it changed."""
    if isinstance(found, (list, tuple)):  # a choice may come with a label, and a dataclass names its fields twice
        items = cast("list[Any]", found)
        return type(items)(change_parts(item, change) for item in items)
    if not isinstance(found, dict):
        return found
    part = cast("dict[str, Any]", found)
    if _is_schema(part):
        return change(part)
    return {name: change_parts(item, change) for name, item in part.items()}


def _is_schema(part: dict[str, Any]) -> bool:
    """Whether it is one, and no mapping of names to schemas: there, `type` is a name, if anything."""
    return isinstance(part.get("type"), str)


def has_type(schema: Any, wanted: str) -> bool:
    """Whether a schema of this type is somewhere in it."""
    found: list[bool] = []

    def look(part: dict[str, Any]) -> dict[str, Any]:
        found.append(part.get("type") == wanted)
        for key in PARTS & part.keys():
            change_parts(part[key], look)
        return part

    look(schema)
    return any(found)
