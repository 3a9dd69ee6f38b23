"""json_parse and json_query: reading JSON text, and asking JMESPath of JSON values."""

from __future__ import annotations

from typing import Any, cast

import orjson

from callgate.adapters.function import tool

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
    for step in extract_path.split(".") if extract_path else ():
        value = _inside(value, step, path=extract_path)
    return {"data": value, "type": _OF_JSON[type(value)]}


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
    output_schema={},
    examples=[{"data": {"users": [{"name": "Alice"}, {"name": "Bob"}]}, "query": "users[*].name"}],
)
def json_query(data: Any, query: str) -> Any:
    """Ask a JMESPath query of a JSON value.

    Args:
        data: Any JSON value.
        query: In JMESPath: `users[?age > `25`].name | [0]`.
    """
    import jmespath  # noqa: PLC0415 - an extra
    from jmespath.exceptions import JMESPathError  # noqa: PLC0415

    try:
        return jmespath.search(query, data)
    except JMESPathError as error:
        raise ValueError(f"query cannot be answered: {error}") from None
