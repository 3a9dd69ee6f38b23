"""What the writer knows of the database without asking, as long as nobody else has written to it."""

from __future__ import annotations

from callgate.model.attempt import Attempt, AttemptKey

_STARTED_AT_MOST = 20_000
_STRETCH = 8192
"""Smaller writes fewer pages, larger looks in fewer places when asked about the last minutes."""


class Stretch:
    """A few thousand successes that are indexed together."""

    __slots__ = ("entries", "latest", "number")

    def __init__(self, number: int, entries: int) -> None:
        self.number = number
        self.entries = entries
        self.latest: float | None = None
        """When the latest one ended that was added since the stretch was last written."""

    def add(self, ended_at: float) -> int:
        """Add a success; the stretch's number."""
        self.entries += 1
        self.latest = ended_at if self.latest is None else max(self.latest, ended_at)
        return self.number

    @property
    def full(self) -> bool:
        """Whether the next success starts another."""
        return self.entries >= _STRETCH


class Known:
    """Rows this process wrote and will soon need again, and the ends of the growing tables. None is not known."""

    def __init__(self) -> None:
        self.version: int | None = None
        """SQLite's count of other connections' commits, as of which all this holds."""
        self.position: int | None = None
        self.attempt_id: int | None = None
        self.stretch: Stretch | None = None
        """Where the next success goes."""
        self.unresolved: bool | None = None
        """Whether any attempt's outcome is unknown, or was and is being tried again."""
        self.started: dict[AttemptKey, tuple[int, Attempt]] = {}
        """Rows of calls that run here, by key, with the table's number."""

    def forget(self) -> None:
        """Somebody else wrote, or what we wrote was rolled back."""
        self.version = self.position = self.attempt_id = self.unresolved = self.stretch = None
        self.started.clear()

    def trim(self) -> None:
        """Keep calls that never end from growing this without bound."""
        if len(self.started) > _STARTED_AT_MOST:
            self.started.clear()
