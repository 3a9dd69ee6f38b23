"""What a foreign schema must keep to before it is compiled: an object, bounded, and all of it here.

A schema is somebody else's program: it may be huge, refer to other hosts, or unfold into far more than it looks.
"""

from __future__ import annotations

from typing import Any

from callgate.adapters.schema_walk import Places, Schema, subschemas, walk
from callgate.errors import ConfigurationError
from callgate.model.canonical import NotCanonical, dumps, loads
from callgate.model.visible import brief, readable, visible

LARGEST = 256 * 1024
DEEPEST = 64
MOST_PARTS = 100_000
"""Parts to look at for one value, references followed."""
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_WORDS = ("title", "description", "$comment")


def copy_schema(schema: Any) -> Schema:
    """A copy that nobody else holds, within bounds, with hidden characters in its texts made visible.

    Raises:
        ConfigurationError: It is no schema, too large, too deep, hides something, or refers to other places.
    """
    if not isinstance(schema, dict):
        raise ConfigurationError(f"a schema is a JSON object, not {type(schema).__name__}")
    copy = _read_back(schema)  # pyright: ignore[reportUnknownArgumentType]
    _refuse_depth(copy)
    show_hidden(copy)
    places = Places(copy)
    for _, part in walk(copy):
        _refuse_remote(part, places.ids)
    _refuse_unfolding(copy)
    return copy


def show_hidden(schema: Schema) -> None:
    """Make hidden characters visible in what a model reads; the schema is changed.

    Raises:
        ConfigurationError: A parameter has them in its name.
    """
    for _, part in walk(schema):
        _refuse_hidden_names(part)
        _show_words(part)


def refuse_other_types(schema: Schema) -> None:
    """Arguments are an object, so their schema must admit one.

    Raises:
        ConfigurationError: It does not.
    """
    kind = schema.get("type", "object")
    if kind != "object" and not (isinstance(kind, list) and "object" in kind):
        raise ConfigurationError('an input schema is of type "object": arguments have names')


def count_parts(root: Schema) -> int:
    """How many schemas one value may be held against; a part that contains itself counts once."""
    known: dict[int, int] = {}
    places = Places(root)

    def count(schema: Schema) -> int:
        if id(schema) in known:
            return known[id(schema)]
        known[id(schema)] = 1
        targets = [places.find(schema.get(key)) for key in _REFERENCES]
        inside = [part for step, part in subschemas(schema) if not step.startswith(("/$defs/", "/definitions/"))]
        total = 1 + sum(count(part) for part in inside) + sum(count(target[1]) for target in targets if target)
        known[id(schema)] = total
        return total

    return count(root)


def _refuse_unfolding(schema: Schema) -> None:
    try:
        parts = count_parts(schema)
    except RecursionError:
        raise ConfigurationError("the schema's references follow one another too far") from None
    if parts > MOST_PARTS:
        raise ConfigurationError(f"the schema unfolds into more than {MOST_PARTS} parts")


def _read_back(schema: dict[Any, Any]) -> Schema:
    try:
        text = dumps(schema)
    except NotCanonical as error:
        raise ConfigurationError(f"the schema is not JSON: {error}") from None
    if len(text) > LARGEST:
        raise ConfigurationError(f"the schema has {len(text)} bytes; {LARGEST} at most")
    return loads(text)


def _refuse_depth(schema: Any) -> None:
    level: list[Any] = [schema]
    for _ in range(DEEPEST):
        level = [inner for outer in level for inner in (outer.values() if isinstance(outer, dict) else outer)]  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
        level = [inner for inner in level if isinstance(inner, (dict, list))]
        if not level:
            return
    raise ConfigurationError(f"the schema is nested deeper than {DEEPEST} levels")


def _refuse_hidden_names(part: Schema) -> None:
    names: Any = part.get("properties", {})
    for name in names:
        if visible(name) != name:
            raise ConfigurationError(f"the parameter {brief(name)!r} has hidden characters in its name")


def _refuse_remote(part: Schema, ids: set[str]) -> None:
    for key in _REFERENCES:
        reference = part.get(key)
        if isinstance(reference, str) and reference.partition("#")[0] not in ids | {""}:
            message = f"the schema refers to {brief(reference)!r}, and nothing is fetched; put it under $defs"
            raise ConfigurationError(message)


def _show_words(part: Schema) -> None:
    for key in _WORDS:
        if isinstance(part.get(key), str):
            part[key] = readable(part[key])
