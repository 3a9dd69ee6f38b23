"""What the writer knows of the database without asking, as long as nobody else has written to it."""

from __future__ import annotations

from callgate.model.attempt import Attempt, AttemptKey

_STARTED_AT_MOST = 20_000


class Known:
    """Rows this process wrote and will soon need again, and the ends of the growing tables. None is not known."""

    def __init__(self) -> None:
        self.version: int | None = None
        """SQLite's count of other connections' commits, as of which all this holds."""
        self.position: int | None = None
        self.attempt_id: int | None = None
        self.unknown: bool | None = None
        """Whether any attempt's outcome is unknown."""
        self.started: dict[AttemptKey, tuple[int, Attempt]] = {}
        """Rows of calls that run here, by key, with the table's number."""

    def forget(self) -> None:
        """Somebody else wrote, or what we wrote was rolled back."""
        self.version = self.position = self.attempt_id = self.unknown = None
        self.started.clear()

    def trim(self) -> None:
        """Keep calls that never end from growing this without bound."""
        if len(self.started) > _STARTED_AT_MOST:
            self.started.clear()
