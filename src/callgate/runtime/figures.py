"""Figures: how much was called in a time, how it ended, how long people were waited for. Counts, and keeps nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from callgate.model.approval import Approval, ApprovalState
from callgate.ports import Count

ENDS = ("succeeded", "refused", "failed", "unknown", "waiting")
DECIDED = frozenset(
    {ApprovalState.APPROVED, ApprovalState.USED, ApprovalState.REJECTED, ApprovalState.ANSWERED, ApprovalState.EXPIRED}
)
"""Questions that somebody was waited for."""
SPANS: Mapping[str, tuple[float, float]] = {
    "1h": (3600.0, 60.0),
    "24h": (86_400.0, 1800.0),
    "7d": (7 * 86_400.0, 4 * 3600.0),
}
"""How far back people look, in seconds, and how long one bar of a chart is then."""
_TOOLS = 10
_GROUPS = {
    "succeeded": "succeeded",
    "deduped": "succeeded",
    "previewed": "succeeded",
    "failed": "failed",
    "refused": "refused",
    "unknown": "unknown",
    "pending": "waiting",
    "started": "waiting",
}


class Span(NamedTuple):
    """A time that ends now, and the steps it is cut into."""

    now: float
    back: float
    step: float

    @property
    def since(self) -> float:
        """When it begins."""
        return self.now - self.back

    def times(self) -> tuple[float, ...]:
        """Where its steps begin."""
        first = self.since // self.step * self.step
        return tuple(first + self.step * place for place in range(int(self.back // self.step) + 1))


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What a time comes to, as a whole and step by step."""

    ends: Mapping[str, int]
    """How many calls ended so, by the words of `ENDS`."""
    waited: float | None
    """Seconds until a person decided, the middle of them; None where nobody decided anything."""
    took: float | None
    """Milliseconds that a call took, the middle of them."""
    tools: tuple[tuple[str, int], ...]
    """The tools called most, and how often."""
    times: tuple[float, ...]
    ended: Mapping[str, tuple[int, ...]]
    """As `ends`, for each of `times`."""
    waits: tuple[float | None, ...]
    """Seconds on average, for each of `times`."""
    takes: tuple[float | None, ...]
    """Milliseconds on average, for each of `times`."""

    @property
    def total(self) -> int:
        """How many calls there were."""
        return sum(self.ends.values())

    @property
    def share(self) -> float | None:
        """Which part of what has ended succeeded; None where nothing has ended."""
        known = self.total - self.ends["waiting"]
        return self.ends["succeeded"] / known if known else None


STATUSES = frozenset(_GROUPS)
"""How entries stand that count as calls."""


def figures(counts: Iterable[Count], questions: Iterable[Approval], *, took: float | None, span: Span) -> Figures:
    """What the counts of calls and decided questions come to in that time.

    Args:
        counts: By stretches as long as a step.
        questions: Those that somebody decided.
        took: Milliseconds that the middle call took.
        span: Which time.
    """
    recent = [each for each in counts if each.status in _GROUPS]
    waits = [
        (each.decided_at, each.decided_at - each.created_at)
        for each in questions
        if each.decided_at is not None and each.decided_at >= span.since
    ]
    times = span.times()
    ended = {name: _ended(recent, name, span=span) for name in ENDS}
    return Figures(
        ends={name: sum(numbers) for name, numbers in ended.items()},
        waited=_middle([seconds for _, seconds in waits]),
        took=took,
        tools=_most_called(recent),
        times=times,
        ended=ended,
        waits=_averages([(_place(at, times), 1, seconds) for at, seconds in waits], len(times)),
        takes=_averages([(_bar(each, span), each.measured, each.duration_ms) for each in recent], len(times)),
    )


def _bar(count: Count, span: Span) -> int:
    return min(max(count.stretch - int(span.since // span.step), 0), len(span.times()) - 1)


def _ended(counts: Iterable[Count], group: str, *, span: Span) -> tuple[int, ...]:
    found = [0] * len(span.times())
    for each in counts:
        if each.status is not None and _GROUPS[each.status] == group:
            found[_bar(each, span)] += each.entries
    return tuple(found)


def _most_called(counts: Iterable[Count]) -> tuple[tuple[str, int], ...]:
    called: Counter[str] = Counter()
    for each in counts:
        called[each.tool or "(erased)"] += each.entries
    return tuple(called.most_common(_TOOLS))


def _place(at: float, times: Sequence[float]) -> int:
    return min(max(int((at - times[0]) // (times[1] - times[0])), 0), len(times) - 1)


def _averages(measured: Iterable[tuple[int, int, float]], bars: int) -> tuple[float | None, ...]:
    """By bar: of how many it is the sum, and the sum."""
    sums, numbers = [0.0] * bars, [0] * bars
    for bar, number, total in measured:
        sums[bar] += total
        numbers[bar] += number
    return tuple(total / number if number else None for total, number in zip(sums, numbers, strict=True))


def _middle(values: list[float]) -> float | None:
    return sorted(values)[len(values) // 2] if values else None
