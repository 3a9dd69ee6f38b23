"""Past calls: what was recorded of a trace so far, for tools that declare that they look at it."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from callgate.events.invocations import TYPES, begins, begun, gone_on
from callgate.model.recorded_calls import RecordedCalls

if TYPE_CHECKING:
    from collections.abc import Iterable

    from callgate.model.context import Context
    from callgate.model.event import Event
    from callgate.pipeline.parts import Parts
    from callgate.secrets.strike import Striker

RECORD = "record"
"""The capability of a tool that looks at what was recorded; accepted with the rest of what it declares."""
_MOST_CALLS = 10_000
_PAGE = 5000


async def recorded_calls(parts: Parts, context: Context) -> RecordedCalls:
    """The newest calls of this asker in this trace, as the audit has them: struck of secrets, in order."""
    await parts.store.flush()
    newest, after = _Newest(context), 0
    while page := await parts.store.scan(
        lambda reader, after=after: reader.events(trace=context.trace_id, types=TYPES, after=after, limit=_PAGE)
    ):
        await asyncio.to_thread(newest.take, page)
        after = page[-1].position
    return await asyncio.to_thread(newest.struck, parts.striker)


class _Newest:
    """The newest calls of one asker, put together page by page."""

    def __init__(self, context: Context) -> None:
        self._own = (context.principal, context.session, context.user)
        self._calls: OrderedDict[str, dict[str, Any]] = OrderedDict()
        self._left_out = 0

    def take(self, events: Iterable[Event]) -> None:
        for event in events:
            if event.call is None:
                continue
            record = self._calls.get(event.call)
            if record is not None:
                self._calls[event.call] = gone_on(record, event)
            elif begins(event) and self._is_own(event):
                self._calls[event.call] = begun(event)
                if len(self._calls) > _MOST_CALLS:
                    self._calls.popitem(last=False)
                    self._left_out += 1

    def struck(self, striker: Striker) -> RecordedCalls:
        """Struck again: what was handed out as a secret since was none when it was recorded."""
        calls = RecordedCalls(striker.strike(record) for record in self._calls.values())
        calls.left_out = self._left_out
        return calls

    def _is_own(self, event: Event) -> bool:
        """A trace is a name that anybody may use: what others did under it is not this asker's to see."""
        payload = event.payload or {}
        return (payload.get("principal"), payload.get("session"), payload.get("user")) == self._own
