"""Health: whether the system behind a tool can be called. A circuit per connector; healthy ones cost one look-up.

Knows nothing of calls: it is told how they ended, and asked before the next one.
"""

from __future__ import annotations

import math
import random
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from callgate.model.health import HEALTHY, Health
from callgate.model.levels import Category, HealthStatus
from callgate.model.tool import Tool
from callgate.ports import Clock

ANY_HOST = "any_host"
"""The capability of a tool that asks whichever place it is told to: how one of them does says nothing of the others."""
_SERVER_ERROR = 500
_TOO_MANY_REQUESTS = 429
_SPEAKING = frozenset({Category.NETWORK, Category.TIMEOUT, Category.API})
_LONGEST_RATE_LIMIT = 86_400.0
"""A reset further away is tried again after a day: it may be a mistake, or malice, of the other side."""
_LONGEST_ERROR = 500
_SPREAD = 0.2


def connector_of(tool: Tool) -> str:
    """The connector a tool's health belongs to: its own name, when it declares none."""
    return tool.connector or tool.name


def speaks_of_connector(category: Category, *, status: int | None = None) -> bool:
    """Whether trouble says something about the connector, rather than about what was asked of it.

    Args:
        category: The kind of trouble.
        status: The HTTP status of an API's answer, where there is one.
    """
    if category is Category.API and status is not None:
        return status >= _SERVER_ERROR or status == _TOO_MANY_REQUESTS
    return category in _SPEAKING


@dataclass(frozen=True, slots=True, kw_only=True)
class CircuitSettings:
    """When a circuit opens and how long it stays open. Seconds."""

    errors: int = 5
    """Consecutive errors that open it."""
    pause: float = 30.0
    """Until the first probe; doubled after each that fails."""
    longest_pause: float = 600.0
    probe: float = 10.0
    """How long others wait for a probe before the next may try; a probe can be lost on its way."""


@dataclass(slots=True)
class _Trouble:
    """One connector that is not simply healthy. `health.status` is not kept: it depends on the time."""

    health: Health
    by_hand: bool = False
    """Somebody said that it is unavailable; only somebody lifts it."""
    retry_at: float = 0.0
    """Monotonic: when an open circuit may be probed."""
    probe_until: float = 0.0
    """Monotonic: until then a probe is under way."""
    failed_probes: int = 0


class HealthBoard:
    """The health of all connectors.

    Args:
        clock: Wall time for what people read and for rate limits, monotonic time for pauses.
        settings: When circuits open.
        jitter: Gives a number in [0, 1), so that many gates do not probe at the same moment.
    """

    def __init__(
        self, clock: Clock, *, settings: CircuitSettings | None = None, jitter: Callable[[], float] | None = None
    ) -> None:
        self._clock = clock
        self._settings = settings or CircuitSettings()
        self._jitter = jitter or random.random  # noqa: S311 - spreads probes, protects nothing
        self._successes: dict[str, float] = {}
        self._errors: dict[str, tuple[str, float]] = {}
        self._troubles: dict[str, _Trouble] = {}
        self.troubled: Mapping[str, object] = self._troubles
        """Connectors that are not simply healthy: where there is none, no call needs to ask."""
        self._lock = threading.Lock()

    def available(self, tool: Tool) -> str | None:
        """None if a call may go on, else why not. For calls only: on a half-open circuit the asker is the one probe."""
        trouble = self._troubles.get(tool.connector or tool.name)
        if trouble is None:
            return tool.unavailable
        return tool.unavailable or self._admit(trouble, probing=True)

    def give_back(self, tool: Tool) -> None:
        """The asker does not call after all: the next may probe at once."""
        trouble = self._troubles.get(tool.connector or tool.name)
        if trouble is not None:
            with self._lock:
                trouble.probe_until = 0.0

    def look(self, tool: Tool) -> str | None:
        """As `available`, for listings and explanations: the asker does not call, and takes nobody's turn."""
        trouble = self._troubles.get(tool.connector or tool.name)
        if trouble is None:
            return tool.unavailable
        return tool.unavailable or self._admit(trouble, probing=False)

    def went_well(self, connector: str, now: float) -> bool:
        """Note a success of a healthy connector; False, and nothing noted, where anything but health is known of it."""
        if connector in self._troubles:
            return False
        self._successes[connector] = now
        return True

    def of(self, connector: str) -> Health:
        """How a connector is now; one nobody spoke of is healthy."""
        trouble = self._troubles.get(connector)
        error, error_at = self._errors.get(connector, (None, None))
        return replace(
            HEALTHY if trouble is None else trouble.health,
            status=HealthStatus.HEALTHY if trouble is None else self._status(trouble),
            last_success_at=self._successes.get(connector),
            last_error=error,
            last_error_at=error_at,
        )

    def succeeded(self, connector: str, now: float) -> None:
        """A call went well, at the wall time `now`."""
        self._successes[connector] = now
        trouble = self._troubles.get(connector)
        if trouble is not None:
            self._heal(connector, trouble)

    def failed(  # noqa: PLR0917 - told as `succeeded` is, and what went wrong
        self, connector: str, error: str, now: float, *, resets_at: float | None = None, counts: bool = True
    ) -> None:
        """A call failed, at the wall time `now`.

        Args:
            connector: Whose call it was.
            error: What went wrong, redacted.
            now: Wall time.
            resets_at: Wall time at which a rate limit ends.
            counts: Whether the trouble speaks of the connector (`speaks_of_connector`); a caller's mistake does not.
        """
        limited_until = _end_of_limit(resets_at, now)
        with self._lock:
            trouble = self._troubles.get(connector)
            if trouble is None:
                if not counts and limited_until is None:
                    return
                trouble = self._troubles[connector] = _Trouble(HEALTHY)
            if counts:
                self._errors[connector] = (error[:_LONGEST_ERROR], now)
                self._count(trouble, now=now)
            else:
                trouble.probe_until = 0.0
            if limited_until is not None:
                trouble.health = replace(trouble.health, rate_limit_resets_at=limited_until)

    def set(self, connector: str, health: Health) -> None:
        """Say how a connector is. Unavailable without `opened_at` stays so until it is said otherwise."""
        self.forget(connector)
        with self._lock:
            if health.last_success_at is not None:
                self._successes[connector] = health.last_success_at
            if health.last_error is not None:
                self._errors[connector] = (health.last_error[:_LONGEST_ERROR], health.last_error_at or 0.0)
            if _is_plain(health):
                return
            resets_at = _end_of_limit(health.rate_limit_resets_at, self._clock.now())
            trouble = _Trouble(replace(health, rate_limit_resets_at=resets_at))
            if health.opened_at is not None:
                trouble.retry_at = self._clock.monotonic() + self._pause(0)
            else:
                trouble.by_hand = health.status is HealthStatus.UNAVAILABLE and health.rate_limit_resets_at is None
            self._troubles[connector] = trouble

    def forget(self, connector: str) -> None:
        """Nothing is known of the connector any more."""
        with self._lock:
            self._successes.pop(connector, None)
            self._errors.pop(connector, None)
            self._troubles.pop(connector, None)

    def _heal(self, connector: str, trouble: _Trouble) -> None:
        with self._lock:
            if trouble.by_hand:
                trouble.health = replace(trouble.health, consecutive_errors=0)
                return
            resets_at = trouble.health.rate_limit_resets_at
            if resets_at is not None and resets_at > self._clock.now():
                # A call that was under way ended well; the limit the other side named still stands.
                self._troubles[connector] = _Trouble(Health(rate_limit_resets_at=resets_at))
            else:
                self._troubles.pop(connector, None)

    def _count(self, trouble: _Trouble, *, now: float) -> None:
        errors = trouble.health.consecutive_errors + 1
        opened_at = trouble.health.opened_at
        if opened_at is None and errors >= self._settings.errors:
            opened_at = now
            trouble.retry_at = self._clock.monotonic() + self._pause(0)
        elif opened_at is not None and trouble.probe_until:
            # The probe failed. Calls that began before the circuit opened and fail now do not lengthen the pause.
            trouble.failed_probes += 1
            trouble.retry_at = self._clock.monotonic() + self._pause(trouble.failed_probes)
        trouble.probe_until = 0.0
        trouble.health = replace(trouble.health, consecutive_errors=errors, opened_at=opened_at)

    def _pause(self, failed_probes: int) -> float:
        settings = self._settings
        # Beyond some doublings it is the longest anyway, and 2**n must not overflow.
        pause = min(settings.longest_pause, settings.pause * 2 ** min(failed_probes, 32))
        return pause * (1 + _SPREAD * self._jitter())

    def _status(self, trouble: _Trouble) -> HealthStatus:
        if self._admit(trouble, probing=False) is not None:
            return HealthStatus.UNAVAILABLE
        health = trouble.health
        if health.consecutive_errors or health.opened_at is not None or health.status is HealthStatus.DEGRADED:
            return HealthStatus.DEGRADED
        return HealthStatus.HEALTHY

    def _admit(self, trouble: _Trouble, *, probing: bool) -> str | None:
        health = trouble.health
        if trouble.by_hand:
            return trouble.health.last_error or "its connector was switched off"
        resets_at = health.rate_limit_resets_at
        if resets_at is not None and resets_at > self._clock.now():
            return f"its connector is rate limited until {datetime.fromtimestamp(resets_at, UTC):%Y-%m-%dT%H:%M:%SZ}"
        if health.opened_at is None:
            return None
        with self._lock:
            return self._admit_probe(trouble, probing=probing)

    def _admit_probe(self, trouble: _Trouble, *, probing: bool) -> str | None:
        now = self._clock.monotonic()
        wait = max(trouble.retry_at, trouble.probe_until) - now
        if wait > 0:
            errors = trouble.health.consecutive_errors
            return f"its connector failed {errors} times in a row; it is tried again in {math.ceil(wait)} s"
        if probing:
            trouble.probe_until = now + self._settings.probe
        return None


def _is_plain(health: Health) -> bool:
    """Whether nothing but good is said, so that no entry is needed."""
    return (
        health.status is HealthStatus.HEALTHY and not health.consecutive_errors and health.rate_limit_resets_at is None
    )


def _end_of_limit(resets_at: float | None, now: float) -> float | None:
    """When a rate limit ends, if it makes sense: in the future, and not further than a day."""
    if resets_at is None or not math.isfinite(resets_at) or resets_at <= now:
        return None
    return min(resets_at, now + _LONGEST_RATE_LIMIT)
