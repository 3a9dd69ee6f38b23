"""Bus: tells subscribers what was recorded, after it was. A subscriber can neither stop nor slow a call."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence

from callgate.events.selection import EVERYTHING, Selection
from callgate.events.subscription import Handler, Subscription
from callgate.events.translation import Vocabulary
from callgate.model.event import Event
from callgate.ports import Store

_ROUTES = 1024
_POLL = 1.0


class Bus:
    """Where what was recorded is heard. Used on the event loop of its store.

    Args:
        store: Whose events are told; it is listened to from the first subscriber on, and not before.
        enabled: A disabled bus drops everything.
        queue: How many events may wait for one async subscriber.
        poll: Seconds after which a stream looks for what other processes recorded.
    """

    def __init__(self, store: Store, *, enabled: bool = True, queue: int = 1024, poll: float = _POLL) -> None:
        self.enabled = enabled
        self._store = store
        self._queue = queue
        self._poll = poll
        self._subscriptions: list[Subscription] = []
        self._routes: dict[str, tuple[Subscription, ...]] = {}
        self._wakes: set[asyncio.Event] = set()
        self._listening = False
        self._closed = False

    @property
    def dropped(self) -> int:
        """Events that subscribers missed because their queues were full."""
        return sum(subscription.dropped for subscription in self._subscriptions)

    def on(self, pattern: str, handler: Handler, *, vocabulary: Vocabulary | str | None = None) -> Subscription:
        """Call `handler` with every event whose type fits from now on.

        Args:
            pattern: An exact type, a glob such as `tool_call.*`, or `*`.
            handler: Sync ones run at once on the loop, async ones in order from a queue of their own.
            vocabulary: In whose words `pattern` is written and the event told; None finds out by the pattern.

        Raises:
            ValueError: There is no such vocabulary.
        """
        known = None if vocabulary is None else Vocabulary(vocabulary)
        subscription = Subscription(pattern, handler, vocabulary=known, queue=self._queue)
        self._listen()
        self._subscriptions.append(subscription)
        self._routes = {}
        return subscription

    def off(self, leaving: Subscription | Handler) -> bool:
        """Let a subscription go, or all of a handler's; whether there was any."""
        gone = [each for each in self._subscriptions if each is leaving or each.handler == leaving]
        for subscription in gone:
            subscription.end()
            self._subscriptions.remove(subscription)
        self._routes = {}
        return bool(gone)

    def publish(self, events: Sequence[Event]) -> None:
        """Tell the subscribers; called by the store after each durable append."""
        for wake in self._wakes:
            wake.set()
        if not self._subscriptions or not self.enabled:
            return
        for event in events:
            route = self._routes.get(event.type)
            for subscription in self._route(event.type) if route is None else route:
                subscription.take(event)

    async def stream(
        self, selection: Selection = EVERYTHING, *, after: int = 0, follow: bool = True
    ) -> AsyncIterator[Event]:
        """The selected events after a position: first the recorded ones, then each new one, without gap or repeat.

        Every event is read from the store, so a slow reader costs nothing and misses nothing. Ends when the bus is
        closed, or with the last recorded event if it does not `follow`.
        """
        wake = asyncio.Event()
        self._wakes.add(wake)
        self._listen()
        try:
            while not self._closed:
                wake.clear()
                page = await self._store.read(lambda reader, start=after: selection.page(reader, after=start))
                after = page.after
                for event in page.events:
                    yield event
                if page.last and not follow:
                    return
                if page.last:
                    await self._wait(wake)
        finally:
            self._wakes.discard(wake)

    async def close(self, *, timeout: float = 5.0) -> None:
        """Let subscribers handle what they were told, for so many seconds, and let them go. Twice is once."""
        self._closed = True
        for wake in self._wakes:
            wake.set()
        leaving, self._subscriptions = self._subscriptions, []
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout):
                for subscription in leaving:
                    await subscription.drain()
        for subscription in leaving:
            await subscription.stop()

    def _listen(self) -> None:
        if not self._listening:
            self._listening = True
            self._store.subscribe(self.publish)

    def _route(self, event_type: str) -> tuple[Subscription, ...]:
        if len(self._routes) >= _ROUTES:
            self._routes = {}
        route = tuple(each for each in self._subscriptions if each.wants(event_type))
        self._routes[event_type] = route
        return route

    async def _wait(self, wake: asyncio.Event) -> None:
        if self._closed:
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._poll):
                await wake.wait()
