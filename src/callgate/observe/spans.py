"""Spans: every call as OpenTelemetry's GenAI conventions tell one. A middleware; it looks, and changes nothing.

The MCP SDK carries the current span in `_meta`, to servers and from clients, so that a trace goes through the gate.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from opentelemetry import trace
from opentelemetry.trace import SpanKind, Status, StatusCode, Tracer

from callgate.model.call import Call
from callgate.model.context import Context
from callgate.model.outcome import Failed, Outcome, Refused, Unknown

Proceed = Callable[[Call, Context], Awaitable[Outcome]]
_WRONG = (Failed, Unknown, Refused)


def spans(tracer: Tracer | None = None) -> Callable[[Call, Context, Proceed], Awaitable[Outcome]]:
    """Middleware for `Callgate.open(around=[spans()])`. Arguments and outputs are not told: they are anybody's.

    Args:
        tracer: Where spans go; that of the process's own provider when left out.
    """
    chosen = tracer or trace.get_tracer("callgate")

    async def around(call: Call, context: Context, proceed: Proceed) -> Outcome:  # noqa: PLR0917 - as middleware is called
        with chosen.start_as_current_span(
            f"execute_tool {call.tool}",
            kind=SpanKind.INTERNAL,
            attributes={
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": call.tool,
                "gen_ai.conversation.id": context.session,
                "gen_ai.agent.name": context.principal,
                "callgate.trace_id": context.trace_id,
                "callgate.role": context.role,
            },
            record_exception=False,
        ) as span:
            outcome = await proceed(call, context)
            span.set_attribute("gen_ai.tool.call.id", outcome.call_id)
            span.set_attribute("callgate.status", outcome.status)
            span.set_attribute("callgate.deduped", outcome.deduped)
            if isinstance(outcome, _WRONG) and outcome.error is not None:
                span.set_attribute("error.type", outcome.error.code)
                span.set_status(Status(StatusCode.ERROR, outcome.error.code))
            return outcome

    return around
