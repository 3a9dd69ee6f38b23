"""Moments, durations and names as people say them. Exact moments are beside them, for machines and for who looks."""

from __future__ import annotations

import time
from datetime import UTC, datetime

from markupsafe import Markup

_SHORT = 10_000
_STEPS = ((60, 1, "s"), (3600, 60, "min"), (86_400 * 2, 3600, "h"), (float("inf"), 86_400, "days"))


def moment(at: float | None) -> Markup:
    """How long ago something was, or how far it is away."""
    if at is None:
        return Markup("")
    exact = datetime.fromtimestamp(at, UTC)
    away = at - time.time()
    words = f"in {span(away)}" if away > 0 else f"{span(-away)} ago"
    if -1 < away <= 0:
        words = "just now"
    return Markup('<time datetime="{}" title="{}">{}</time>').format(
        exact.isoformat(timespec="seconds"), exact.strftime("%Y-%m-%d %H:%M:%S UTC"), words
    )


def clock(at: float | None) -> Markup:
    """The time of day, to the millisecond."""
    if at is None:
        return Markup("")
    exact = datetime.fromtimestamp(at, UTC)
    return Markup('<time datetime="{}" title="{}">{}</time>').format(
        exact.isoformat(timespec="milliseconds"), exact.strftime("%Y-%m-%d %H:%M:%S UTC"), exact.strftime("%H:%M:%S")
    )


def span(seconds: float) -> str:
    """A duration in one unit, as coarse as it can be."""
    for below, unit, word in _STEPS:
        if seconds < below:
            return f"{int(seconds / unit)} {word}"
    return ""  # pragma: no cover - the last step has no end


def words(text: object) -> str:
    """A name of ours as words."""
    return str(text).replace("_", " ")


def milliseconds(value: float | None) -> str:
    """A short duration."""
    if value is None:
        return ""
    return f"{value:.0f} ms" if value < _SHORT else f"{value / 1000:.1f} s"
