"""Metrics: what was recorded, counted as Prometheus reads it. Names and states only; nothing of anybody's arguments."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from callgate.model.event import Event

_ENDS = {
    "tool_call.succeeded": "succeeded",
    "tool_call.failed": "failed",
    "tool_call.timed_out": "timed_out",
    "tool_call.unknown": "unknown",
    "tool_call.refused": "refused",
    "tool_call.deduped": "deduped",
    "gate.denied": "refused",
    "gate.previewed": "previewed",
    "gate.required": "pending",
}
_DECISIONS = frozenset({"approved", "rejected", "answered", "expired", "withdrawn"})
_UP = {"healthy": 1.0, "degraded": 0.5, "unavailable": 0.0}
_MOST_NAMES = 2000
"""Tools that are counted by name; what comes after them is counted together, for every name is a series of its own."""
_OTHERS, _NOBODYS = "(others)", "(unknown tools)"
_NO_SUCH = "tool_not_found"


class Metrics:
    """Counts events. Give `note` every event, and ask for the `text`."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry(auto_describe=False)
        self._calls = Counter(
            "callgate_calls", "Calls by tool and how they ended.", ("tool", "status"), registry=self._registry
        )
        self._seconds = Histogram(
            "callgate_call_seconds", "How long handlers took.", ("tool",), registry=self._registry
        )
        self._decisions = Counter(
            "callgate_decisions", "Questions by what people decided.", ("decision",), registry=self._registry
        )
        self._waited = Histogram(
            "callgate_decision_seconds",
            "How long questions waited for a person.",
            buckets=(1, 5, 15, 60, 300, 900, 3600, 14_400, 86_400),
            registry=self._registry,
        )
        self._refused = Counter("callgate_entries_refused", "Who was not let in.", registry=self._registry)
        self._up = Gauge(
            "callgate_connector_up", "1 healthy, 0.5 degraded, 0 unavailable.", ("connector",), registry=self._registry
        )
        self._pending = Gauge("callgate_approvals_pending", "Questions that wait.", registry=self._registry)
        self._unknown = Gauge("callgate_outcomes_unknown", "Calls nobody knows the end of.", registry=self._registry)
        self._names: set[str] = set()

    def note(self, event: Event) -> None:
        """Count one event."""
        payload = event.payload or {}
        status = _ENDS.get(event.type)
        if status is not None:
            # Names that nobody declared can be made up without end.
            known = payload.get("code") != _NO_SUCH
            self._ended(str(payload.get("tool", "")) if known else _NOBODYS, status, took=payload.get("duration_ms"))
        room, _, what = event.type.partition(".")
        if room == "approval" and what in _DECISIONS:
            self._decisions.labels(what).inc()
            asked = payload.get("asked_at")
            if isinstance(asked, int | float):
                self._waited.observe(max(0.0, event.time - asked))
        elif event.type == "entry.refused":
            self._refused.inc()
        elif event.type == "health.changed":
            self._up.labels(self._named(str(payload.get("connector", "")))).set(
                _UP.get(str(payload.get("status")), 0.0)
            )

    def text(self, *, pending: int, unknown: int) -> bytes:
        """Everything counted, as Prometheus reads it.

        Args:
            pending: Questions that wait now.
            unknown: Calls nobody knows the end of now.
        """
        self._pending.set(pending)
        self._unknown.set(unknown)
        return generate_latest(self._registry)

    def _ended(self, tool: str, status: str, *, took: object) -> None:
        name = self._named(tool)
        self._calls.labels(name, status).inc()
        if isinstance(took, int | float):
            self._seconds.labels(name).observe(took / 1000)

    def _named(self, name: str) -> str:
        if name not in self._names:
            if len(self._names) >= _MOST_NAMES:
                return _OTHERS
            self._names.add(name)
        return name
