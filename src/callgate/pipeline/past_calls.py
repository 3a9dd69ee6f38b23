"""Past calls: what was recorded of a trace so far, for tools that declare that they look at it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from callgate.events.invocations import invocation_of

if TYPE_CHECKING:
    from callgate.model.context import Context
    from callgate.model.event import Event
    from callgate.pipeline.parts import Parts

RECORD = "record"
"""The capability of a tool that looks at what was recorded; accepted with the rest of what it declares."""
_MOST_EVENTS = 20_000
_TYPES = ("tool_call.*", "gate.denied")


async def recorded_calls(parts: Parts, context: Context) -> list[dict[str, Any]]:
    """Every call of this asker in this trace, as the audit has it: struck of secrets, in order."""
    await parts.store.flush()
    events = await parts.store.read(
        lambda reader: reader.events(trace=context.trace_id, types=_TYPES, limit=_MOST_EVENTS)
    )
    calls: dict[str, list[Event]] = {}
    for event in events:
        if event.call is not None:
            calls.setdefault(event.call, []).append(event)
    found = (invocation_of(of_one) for of_one in calls.values() if _is_of(context, of_one[0]))
    return [record for record in found if record is not None]


def _is_of(context: Context, event: Event) -> bool:
    """A trace is a name that anybody may use: what others did under it is not this asker's to see."""
    payload = event.payload or {}
    own = (context.principal, context.session, context.user)
    return (payload.get("principal"), payload.get("session"), payload.get("user")) == own
