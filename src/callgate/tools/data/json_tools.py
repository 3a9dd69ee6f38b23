"""json_parse and json_query: reading JSON text, and asking JMESPath of JSON values."""

from __future__ import annotations

import json
import re
from typing import Annotated, Any, cast

import orjson
from pydantic import Field

from callgate.adapters.function import tool
from callgate.model.visible import brief
from callgate.tools.data.nothing_outside import nothing_outside

LONGEST_QUERY = 10_000
DEEPEST = 200
"""Levels of nesting. What lies deeper is read by nobody, and breaks who walks through it."""
_BRACKETS = re.compile(r"""\[(?:(?P<at>-?[0-9]+)|(?P<quote>["'])(?P<name>[^\[\]"'.]+)(?P=quote))\]""")
_OF_A_QUERY = re.compile(r"\[|(?:\A|\.)\*(?:\.|\Z)")
"""A filter, a slice or a projection: what takes more than one value."""
_POSITION = re.compile(r"-?[0-9]{1,18}")
_LONG_NUMBER = re.compile(r"[0-9]{19}")

_OF_JSON = {
    dict: "object",
    list: "array",
    str: "string",
    bool: "boolean",
    int: "number",
    float: "number",
    type(None): "null",
}
_PARSED = {
    "type": "object",
    "properties": {"data": {}, "type": {"enum": sorted(set(_OF_JSON.values()))}},
    "required": ["data", "type"],
    "additionalProperties": False,
}


@tool(
    effects="read_only",
    deterministic=True,
    concurrency_safe=True,
    scopes=[],
    resources=nothing_outside,
    output_schema=_PARSED,
    examples=[{"content": '{"user": {"name": "Ann"}}', "extract_path": "user.name"}],
)
def json_parse(content: str, extract_path: str | None = None) -> dict[str, Any]:
    """Read JSON text, and optionally take one value out of it.

    Args:
        content: The JSON text.
        extract_path: Names and positions from the outside in, with dots between: `users.0.name`. -1 is the last.
    """
    try:
        value = orjson.loads(content)
    except orjson.JSONDecodeError as error:
        if "infinity" in error.msg:
            place = f"in line {error.lineno}, column {error.colno}"
            raise ValueError(f"content has a number {place} that is too large to read; write it as a text") from None
        raise ValueError(f"content is no JSON: {error}") from None
    _need_shallow(value)
    if _LONG_NUMBER.search(content):
        # The fast reader makes floats of whole numbers of more than 64 bits. It has seen that this is JSON.
        value = json.loads(content)
    for step in extract_path.split(".") if extract_path else ():
        value = _inside(value, step, path=extract_path)
    return {"data": value, "type": _OF_JSON[type(value)]}


def _need_shallow(value: Any) -> None:
    level = [value]
    for _ in range(DEEPEST):
        level = [inner for outer in level for inner in _parts(outer)]
        if not level:
            return
    raise ValueError(f"content is nested more than {DEEPEST} levels deep")


def _parts(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(cast("dict[str, Any]", value).values())
    return cast("list[Any]", value) if isinstance(value, list) else []


def _inside(value: Any, step: str, *, path: str | None) -> Any:
    try:
        return cast("list[Any]", value)[_position(step)] if isinstance(value, list) else value[step]
    except (KeyError, IndexError, ValueError, TypeError):
        hint = _in_dots(path or "")
        raise ValueError(f"extract_path {path} leads nowhere: there is no {step}{hint}") from None


def _position(step: str) -> int:
    if not _POSITION.fullmatch(step):
        raise ValueError
    return int(step)


def _in_dots(path: str) -> str:
    """What to write of a path that is written as other languages do, users[0].name."""
    plain = _BRACKETS.sub(lambda found: f".{found['at'] or found['name']}", path.removeprefix("$")).removeprefix(".")
    if _OF_A_QUERY.search(plain):
        return "; a path takes one value, json_query does filters and projections"
    if not _BRACKETS.search(path) and not path.startswith("$."):
        return ""
    written = f", write {brief(plain)}" if all(plain.split(".")) else ""
    return f"; positions and names have dots between them{written}"


@tool(
    effects="read_only",
    deterministic=True,
    concurrency_safe=True,
    scopes=[],
    resources=nothing_outside,
    output_schema={},
    examples=[{"data": {"users": [{"name": "Alice"}, {"name": "Bob"}]}, "query": "users[*].name"}],
)
def json_query(data: Any, query: Annotated[str, Field(max_length=LONGEST_QUERY)]) -> Any:
    """Ask a JMESPath query of a JSON value.

    Args:
        data: Any JSON value, as it is: JSON inside of a text is refused, json_parse reads it.
        query: In JMESPath: `users[?age > `25`].name | [0]`.
    """
    from jmespath.exceptions import JMESPathError  # noqa: PLC0415 - an extra

    from callgate.tools.data.bounded_query import search  # noqa: PLC0415 - as above

    if isinstance(data, str) and _is_structure(data):
        raise ValueError(
            "data is a text that has JSON in it; give that JSON itself, not as a text, or json_parse it first"
        )
    try:
        return search(query, data)
    except RecursionError:
        raise ValueError("query cannot be answered: it or the data is nested too deeply") from None
    except (JMESPathError, TypeError, OverflowError) as error:
        # Its functions compare what they are given: sorting texts among numbers is no error of ours.
        raise ValueError(f"query cannot be answered: {error}") from None


def _is_structure(text: str) -> bool:
    """Whether a text is JSON with something inside: by JMESPath each of its fields would be null."""
    if not text.lstrip().startswith(("{", "[")):
        return False
    try:
        orjson.loads(text)
    except orjson.JSONDecodeError:
        return False
    return True
