"""Desk: what a gate lends to one attached source. Every method may be called from any thread."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from callgate.errors import StoreError
from callgate.events.vocabulary import KINDS, SOURCE_BACK, SOURCE_LOST
from callgate.model.event import Draft
from callgate.model.health import Health
from callgate.model.levels import HealthStatus

if TYPE_CHECKING:
    from callgate.pipeline.parts import Parts

_SETTLES_IN = 0.2
"""Seconds a source has to finish changing before it is loaded again: changes come in bursts."""


class GateDesk:
    """The gate's side of a source's desk.

    Args:
        parts: The open gate's parts.
        source: Named by what is noted.
        trace: Under which it is noted.
        reload: Starts loading the source again; called on the loop.
    """

    def __init__(self, parts: Parts, *, source: str, trace: str, reload: Callable[[], None]) -> None:
        self._parts = parts
        self._source = source
        self._trace = trace
        self._reload = reload
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._closed = False

    def changed(self) -> None:
        self._loop.call_soon_threadsafe(self._soon)

    def unavailable(self, connector: str, reason: str) -> None:
        shown = self._parts.striker.strike_text(reason)
        health = self._parts.health
        if health.of(connector).status is not HealthStatus.UNAVAILABLE:
            self.note(SOURCE_LOST, {"connector": connector, "reason": shown})
        now = self._parts.clock.now()
        health.set(connector, Health(status=HealthStatus.UNAVAILABLE, last_error=shown, last_error_at=now))

    def available(self, connector: str) -> None:
        if self._parts.health.of(connector).status is HealthStatus.UNAVAILABLE:
            self.note(SOURCE_BACK, {"connector": connector})
        self._parts.health.forget(connector)

    def secret(self, connector: str, key: str) -> str:
        return self._parts.secrets.source(connector, key)

    def keep_secret(self, connector: str, key: str, *, value: str) -> None:
        self._parts.secrets.keep(connector, key, value=value)

    def strike(self, value: str, *, connector: str, key: str) -> None:
        self._parts.striker.remember(value, connector=connector, key=key)

    def note(self, event: str, payload: dict[str, Any]) -> None:
        if self._closed:
            return
        kind = KINDS[event]
        body = self._parts.striker.strike({"source": self._source, **payload})
        draft = Draft(type=event, time=self._parts.clock.now(), trace=self._trace, severity=kind.severity, payload=body)
        try:
            self._parts.store.behind(draft)
        except StoreError:
            return

    def close(self) -> None:
        """The source is let go: nothing it says counts any more."""
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()

    def _soon(self) -> None:
        if self._closed:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_later(_SETTLES_IN, self._reload)
