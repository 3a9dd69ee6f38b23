"""Report: what a verification found, in sentences a person can read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, NamedTuple

_TOLD_AT_MOST = 100


class Place(NamedTuple):
    """An event's place: its stream and its number in it."""

    stream: str
    sequence: int

    def __str__(self) -> str:
        return f"event {self.sequence} of stream {self.stream}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What was looked at, what is wrong with it, and how far it is proven."""

    ok: bool
    """Nothing wrong was found."""
    events: int
    streams: Mapping[str, int] = field(default_factory=dict[str, int])
    """How many events each stream has."""
    broken_at: Place | None = None
    """The first event found wrong or missing; None if nothing is, or what is wrong has no place."""
    problems: tuple[str, ...] = ()
    """Everything found wrong, one sentence each."""
    notes: tuple[str, ...] = ()
    """What could not be proven, and why that need not be wrong."""
    signed_until: float | None = None
    """When the last signed checkpoint was made."""
    unsigned: int = 0
    """Events that no signed checkpoint covers yet."""
    anchored_until: float | None = None
    """When heads were last written outside the store, as far as they agree with it."""
    unanchored_since: float | None = None
    """When the first event was recorded that nothing outside the store knows of; None if there is none."""
    keys: tuple[str, ...] = ()
    """Fingerprints of the public keys that the signatures were checked with."""

    def to_json(self) -> dict[str, Any]:
        """For the command line and the API."""
        return {
            "ok": self.ok,
            "events": self.events,
            "streams": dict(self.streams),
            "broken_at": None if self.broken_at is None else self.broken_at._asdict(),
            "problems": list(self.problems),
            "notes": list(self.notes),
            "signed_until": self.signed_until,
            "unsigned": self.unsigned,
            "anchored_until": self.anchored_until,
            "unanchored_since": self.unanchored_since,
            "keys": list(self.keys),
        }


class Findings:
    """Collects what is wrong: the first sentences, and a count of the rest, so that a ruin does not fill the memory."""

    def __init__(self) -> None:
        self.broken_at: Place | None = None
        self._problems: list[str] = []
        self._notes: list[str] = []
        self._more = 0

    def wrong(self, sentence: str, place: Place | None = None) -> None:
        """Something is not as it was recorded."""
        if self.broken_at is None:
            self.broken_at = place
        if len(self._problems) < _TOLD_AT_MOST:
            self._problems.append(sentence)
        else:
            self._more += 1

    def note(self, sentence: str) -> None:
        """Something could not be proven."""
        if len(self._notes) < _TOLD_AT_MOST:
            self._notes.append(sentence)

    @property
    def ok(self) -> bool:
        """Nothing is wrong so far."""
        return not self._problems

    @property
    def problems(self) -> tuple[str, ...]:
        """The sentences, and how many more there would be."""
        rest = (f"and {self._more} more problems of these kinds",) if self._more else ()
        return (*self._problems, *rest)

    @property
    def notes(self) -> tuple[str, ...]:
        """What could not be proven."""
        return tuple(self._notes)


def moment(seconds: float) -> str:
    """A time as people read it."""
    try:
        return datetime.fromtimestamp(seconds, tz=UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (OverflowError, OSError, ValueError):
        return f"time {seconds}"
