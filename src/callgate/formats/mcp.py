"""MCP: tool listings out, `tools/call` requests in, call results back. Knows nothing of sessions and transports."""

from __future__ import annotations

from typing import Any, cast

from callgate.model.levels import Effect
from callgate.model.requested import Requested, attribute, requested
from callgate.model.tool import Tool

NAME = "mcp"
_WRAPPED = "result"
_SHARED = ("$defs", "definitions", "$schema")


def definition(tool: Tool, *, name: str, schema: dict[str, Any]) -> dict[str, Any]:
    """A tool as `tools/list` shows it, with what it declares as annotations."""
    body: dict[str, Any] = {
        "name": name,
        "description": tool.description,
        "inputSchema": schema,
        "annotations": _annotations(tool),
    }
    output = output_schema(tool)
    return body if output is None else body | {"outputSchema": output}


def _annotations(tool: Tool) -> dict[str, Any]:
    hints: dict[str, Any] = {"readOnlyHint": tool.read_only}
    if not tool.read_only:
        hints |= {"destructiveHint": tool.destructive, "idempotentHint": tool.idempotent}
    return hints | {"openWorldHint": tool.egress or Effect.NETWORK_ACCESS in tool.effects}


def output_schema(tool: Tool) -> dict[str, Any] | None:
    """The schema of the structured content: of the output itself if it is an object, else of one that holds it.

    None where there is none, or where it refers to itself in a way that would break when it is held by another.
    """
    schema = tool.output_schema
    if schema is None or _is_object(schema):
        return schema
    inner = {key: value for key, value in schema.items() if key not in _SHARED}
    if _refers_to_root(inner):
        return None
    shared = {key: schema[key] for key in _SHARED if key in schema}
    return shared | {"type": "object", "properties": {_WRAPPED: inner}, "required": [_WRAPPED]}


def _is_object(schema: dict[str, Any]) -> bool:
    return schema.get("type") == "object"


def _refers_to_root(value: Any) -> bool:
    if isinstance(value, dict):
        body = cast("dict[str, Any]", value)
        reference = body.get("$ref")
        elsewhere = isinstance(reference, str) and not reference.startswith(("#/$defs/", "#/definitions/"))
        return elsewhere or any(_refers_to_root(part) for part in body.values())
    return isinstance(value, list) and any(_refers_to_root(part) for part in cast("list[Any]", value))


def call(request: Any) -> Requested:
    """The call of a `tools/call` request, or of its params.

    Its id is empty: a JSON-RPC id names a message of a connection, and never makes two calls one.
    """
    found = attribute(request, "params")
    params = request if found is None else found
    read = requested("-", name=attribute(params, "name"), arguments=attribute(params, "arguments"))
    return read._replace(id="")


def result(text: str, *, is_error: bool, output: Any = None, schema: dict[str, Any] | None = None) -> dict[str, Any]:
    """The result of a call: text, and beside it the output in the shape that `output_schema` told.

    Args:
        text: What the model reads.
        is_error: Everything but a success; a client that knows an output schema wants structured content otherwise.
        output: What the tool returned, in JSON values.
        schema: The tool's own output schema, where it has one.
    """
    body: dict[str, Any] = {"content": [{"type": "text", "text": text}], "isError": is_error}
    if is_error:
        return body
    if schema is not None and not _is_object(schema):
        return body | {"structuredContent": {_WRAPPED: output}}
    return body | {"structuredContent": output} if isinstance(output, dict) else body
