"""Recording a call that did not run: refused, deduped, previewed, pending. Before the answer leaves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from callgate.errors import StoreError
from callgate.model.event import Draft
from callgate.model.outcome import Refused
from callgate.pipeline.notes import who
from callgate.pipeline.recorded import view

if TYPE_CHECKING:
    from callgate.model.outcome import Outcome
    from callgate.pipeline.parts import Asked, Parts
    from callgate.pipeline.stopped import Stopped


async def record(parts: Parts, asked: Asked, stop: Stopped) -> Outcome:
    """Write down how the call ended, and hand out the outcome.

    A refusal stands although it cannot be written: nothing happened, and saying no needs no record to be safe.
    """
    if stop.recorded:
        return stop.outcome
    draft = _draft(parts, asked, stop)
    try:
        if _is_hot(stop):
            parts.store.behind(draft)
        else:
            await parts.store.write(lambda tx: tx.append(draft))
    except StoreError:
        if not isinstance(stop.outcome, Refused):
            raise
    return stop.outcome


def _is_hot(stop: Stopped) -> bool:
    return stop.event == "tool_call.deduped"


def _draft(parts: Parts, asked: Asked, stop: Stopped) -> Draft:
    context = asked.context
    payload: dict[str, Any] = {"tool": asked.call.tool, **stop.payload}
    if not _is_hot(stop):
        payload |= {
            "arguments": view(parts.striker.strike(asked.call.arguments)),
            **who(context),
        }
        if asked.key is not None:
            payload["key"] = asked.key
        payload["tool"] = str(view(asked.call.tool))[:256]
    return Draft(
        type=stop.event,
        time=parts.clock.now(),
        trace=context.trace_id,
        call=asked.call_id,
        severity=stop.severity,
        payload=payload,
    )
