"""What a client is told of an outcome: text for its model, structured content beside it, a server's own blocks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from callgate.formats import mcp
from callgate.model.levels import Origin
from callgate.model.outcome import Outcome, Succeeded
from callgate.model.tool import Tool
from callgate.runtime.outcome_form import outcome_to_json
from callgate.runtime.telling import is_error, told

META = "callgate/outcome"
"""The key of `_meta` under which a result says how the call ended, for who reads more than text."""
COMPLETE = {"resultType": "complete"}
"""Said from 2026-07-28 on; the SDK takes it out for those before."""
_HAPPENED = "It happened. What it returned is not known, so do not make the call again."
_KEPT = ("status", "call_id", "trace_id", "key", "deduped", "approval_id", "expires_at", "happened")


def result_of(outcome: Outcome, tool: Tool | None, *, more: str = "") -> dict[str, Any]:
    """The result of a call.

    Args:
        outcome: How it ended.
        tool: Which tool, where it is known.
        more: Said after the text.
    """
    body = outcome_to_json(outcome)
    meta = {META: _facts(outcome, body)}
    schema = None if tool is None else tool.output_schema
    if not isinstance(outcome, Succeeded):
        # A client that knows an output schema wants to see it kept, or an error; waiting for a person is neither.
        return mcp.result(told(outcome) + more, is_error=is_error(outcome) or schema is not None) | {"_meta": meta}
    value: Any = body["value"]
    if value is None and schema is not None and not _may_be_nothing(schema):
        # Somebody found out that it happened, and nobody knows what it returned: nothing would keep the schema.
        return mcp.result(_HAPPENED + more, is_error=True) | {"_meta": meta}
    if tool is not None and tool.source is Origin.MCP and isinstance(value, dict) and "blocks" in value:
        return _as_said(cast("dict[str, Any]", value)) | {"_meta": meta}
    return mcp.result(told(outcome) + more, is_error=False, output=value, schema=schema) | {"_meta": meta}


def _may_be_nothing(schema: Mapping[str, Any]) -> bool:
    """Whether null keeps the schema, as far as its outermost words say."""
    kinds: Any = schema.get("type")
    if kinds is not None:
        return kinds == "null" or "null" in kinds
    choices: Any = schema.get("anyOf", schema.get("oneOf"))
    return choices is None or any(_may_be_nothing(choice) for choice in choices)


def _as_said(value: dict[str, Any]) -> dict[str, Any]:
    """Images, sounds and resources of a server behind us, as its adapter kept them."""
    text: str = value.get("text") or ""
    content = [*([{"type": "text", "text": text}] if text else []), *value["blocks"]]
    body: dict[str, Any] = {"content": content, "isError": False}
    return body | ({"structuredContent": value["structured"]} if "structured" in value else {})


def _facts(outcome: Outcome, body: dict[str, Any]) -> dict[str, Any]:
    facts = {name: body[name] for name in _KEPT if body.get(name) is not None}
    return facts if outcome.error is None else facts | {"code": outcome.error.code}
