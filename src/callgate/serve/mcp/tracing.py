"""The trace a request belongs to, as its `_meta` says (`traceparent`): what is called on its behalf belongs to it too.

The SDK tells servers behind the gate of the span that is current when they are called, so a trace goes through.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mcp import MCPError
from opentelemetry import trace
from opentelemetry.propagate import extract
from opentelemetry.trace import ProxyTracerProvider, SpanKind, Status, StatusCode
from pydantic import ValidationError

if TYPE_CHECKING:
    from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
    from opentelemetry.context import Context
    from opentelemetry.trace import Span

_PARENT = "traceparent"
_tracer = trace.get_tracer("callgate")


async def traced(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
    """Answer a request inside its trace, as a span by MCP's conventions where spans are exported.

    The SDK's own middleware would tell spans what an error says; that may be anybody's.
    """
    parent = _parent(ctx.meta)
    if parent is None and not _is_watched():
        return await call_next(ctx)
    target = (ctx.params or {}).get("name")
    name = f"{ctx.method} {target}" if isinstance(target, str) else ctx.method
    with _tracer.start_as_current_span(
        name,
        context=parent,
        kind=SpanKind.SERVER,
        attributes=_attributes(ctx, target),
        record_exception=False,
        set_status_on_exception=False,
    ) as span:
        return await _answered(ctx, call_next, span=span)


async def _answered(asked: ServerRequestContext[Any, Any], call_next: CallNext, *, span: Span) -> HandlerResult:
    try:
        result = await call_next(asked)
    except MCPError as error:
        _wrong(span, str(error.error.code), **{"rpc.response.status_code": str(error.error.code)})
        raise
    except ValidationError:
        _wrong(span, "invalid_params")
        raise
    if isinstance(result, dict) and result.get("isError") is True:
        _wrong(span, "tool_error")
    return result


def _wrong(span: Span, kind: str, **more: str) -> None:
    span.set_attributes({"error.type": kind, **more})
    span.set_status(Status(StatusCode.ERROR, kind))


def _attributes(asked: ServerRequestContext[Any, Any], target: Any) -> dict[str, str]:
    told = {"mcp.method.name": asked.method, "mcp.protocol.version": asked.protocol_version}
    if asked.request_id is not None:
        told["jsonrpc.request.id"] = str(asked.request_id)
    if isinstance(target, str) and asked.method in _NAMED:
        told[_NAMED[asked.method]] = target
    if asked.method == "tools/call":
        told["gen_ai.operation.name"] = "execute_tool"
    return told


_NAMED = {"tools/call": "gen_ai.tool.name", "prompts/get": "gen_ai.prompt.name"}


def _parent(meta: Mapping[str, Any] | None) -> Context | None:
    """The trace that is named; None where none is, or its name is none."""
    if not meta or not isinstance(meta.get(_PARENT), str):
        return None
    found = extract({key: value for key, value in meta.items() if isinstance(value, str)})
    return found if trace.get_current_span(found).get_span_context().is_valid else None


def _is_watched() -> bool:
    return not isinstance(trace.get_tracer_provider(), ProxyTracerProvider)
