"""Record: the face of a gate that reviewers use. Events as they happen, and whether they hold."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from typing import TYPE_CHECKING, Any

from callgate.errors import ConfigurationError
from callgate.events.selection import Selection
from callgate.model.person import is_own_agent, named
from callgate.runtime.opened import Face

if TYPE_CHECKING:
    from callgate.events.report import Report
    from callgate.events.subscription import Subscription
    from callgate.model.event import Event


class Record(Face):
    """What was recorded."""

    def on(self, pattern: str, handler: Callable[..., Any], *, vocabulary: str | None = None) -> Subscription:
        """Call `handler` with every event whose type fits (`tool_call.*`), after it was recorded.

        Raises:
            ConfigurationError: The handler cannot be called.
            ValueError: There is no such vocabulary.
        """
        if not callable(handler):
            raise ConfigurationError(f"handler must be a function of an event, not {type(handler).__name__}")
        return self._open().bus.on(pattern, handler, vocabulary=vocabulary)

    def off(self, leaving: Subscription | Callable[..., Any]) -> bool:
        """Let a subscription go; whether there was any."""
        return self._open().bus.off(leaving)

    async def events(
        self,
        *,
        types: Sequence[str] | None = None,
        trace_id: str | None = None,
        call_id: str | None = None,
        after: int = 0,
        follow: bool = False,
    ) -> AsyncIterator[Event]:
        """The recorded events that fit, in order; with `follow`, new ones as they come, until the gate closes."""
        opened = self._open()
        await opened.parts.store.flush()
        selection = Selection(types=None if types is None else tuple(types), trace=trace_id, call=call_id)
        async for event in opened.bus.stream(selection, after=after, follow=follow):
            yield event

    async def events_after(
        self,
        after: int,
        *,
        limit: int,
        types: Sequence[str] = (),
        trace_id: str | None = None,
        call_id: str | None = None,
    ) -> list[Event]:
        """The first so many recorded events that fit behind a position, in order."""
        store = self._open().parts.store
        await store.flush()
        selection = Selection(types=tuple(types) or None, trace=trace_id, call=call_id)
        return (await store.read(lambda reader: selection.page(reader, after=after, size=limit))).events

    async def verify_audit(self) -> Report:
        """Whether the audit log is as it was written: `.ok`, `.events`, `.broken_at`, `.anchored_until`."""
        return await self._open().auditor.verify()

    async def accept_restore(self, *, by: str, why: str) -> None:
        """Say that this copy of a store, or restored backup, is the store from now on. Who said so and why is recorded.

        Raises:
            ConfigurationError: Nobody is named, or the agent itself, or no reason; or there is nothing to accept.
            AuditBroken: What was seen of the store from outside cannot be read.
            StoreError: It could not be recorded or anchored.
        """
        opened = self._open()
        if is_own_agent(named(by), opened.default_context.principal):
            raise ConfigurationError(f"{by} cannot accept this: it takes a person, not the agent itself")
        await opened.auditor.accept_restore(by=by, why=why)

    async def flush(self) -> None:
        """Wait until everything recorded so far is durable."""
        await self._open().parts.store.flush()


def chosen(
    *, types: Sequence[str] = (), trace_id: str | None = None, call_id: str | None = None
) -> Callable[[Event], bool]:
    """Whether an event is one of these, as `events` chooses: names or globs of types, a trace, a call."""
    return Selection(types=tuple(types) or None, trace=trace_id, call=call_id).matches
