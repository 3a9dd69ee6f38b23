"""json_parse and json_query: reading JSON text, and asking JMESPath of JSON values."""

from __future__ import annotations

import json
import re
from typing import Annotated, Any, cast

import orjson
from pydantic import Field

from callgate.adapters.function import tool
from callgate.tools.data.nothing_outside import nothing_outside

LONGEST_QUERY = 10_000
DEEPEST = 200
"""Levels of nesting. What lies deeper is read by nobody, and breaks who walks through it."""
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
        extract_path: Names and positions from the outside in, with dots between: `users.0.name`.
    """
    try:
        value = orjson.loads(content)
    except orjson.JSONDecodeError as error:
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
        return cast("list[Any]", value)[int(step)] if isinstance(value, list) else value[step]
    except (KeyError, IndexError, ValueError, TypeError):
        raise ValueError(f"extract_path {path} leads nowhere: there is no {step}") from None


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
        data: Any JSON value.
        query: In JMESPath: `users[?age > `25`].name | [0]`.
    """
    from jmespath.exceptions import JMESPathError  # noqa: PLC0415 - an extra

    from callgate.tools.data.bounded_query import search  # noqa: PLC0415 - as above

    try:
        return search(query, data)
    except RecursionError:
        raise ValueError("query cannot be answered: it or the data is nested too deeply") from None
    except (JMESPathError, TypeError, OverflowError) as error:
        # Its functions compare what they are given: sorting texts among numbers is no error of ours.
        raise ValueError(f"query cannot be answered: {error}") from None
