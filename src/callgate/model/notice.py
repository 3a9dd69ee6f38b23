"""Notice: something an agent leaves for itself, to be read when it goes on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from callgate.model.visible import one_line

TURN_START = "turn_start"
INJECT_AT: Mapping[str, str] = MappingProxyType(
    {"immediate": "immediate", "next_turn": TURN_START, "after_tool": "after_tool"}
)
"""When a notice is to be delivered, and where it is handed in then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """A notice that waits, or was just handed out."""

    id: str
    message: str
    priority: str
    """low, normal, high or critical."""
    category: str
    """discovery, warning, checkpoint, reminder or context."""
    inject_at: str
    """immediate, turn_start or after_tool."""
    time: float
    """When it was left, in seconds since the epoch."""
    event_id: str
    """The event that says so."""
    trace_id: str
    session: str
    """Where it was left."""
    persistence_id: str | None = None
    """Set where it outlives its session."""

    def to_text(self) -> str:
        """One line of a list, for a model: a message cannot begin a line of its own that seems to be another's."""
        return one_line(f"- ({self.priority} {self.category}) {self.message}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """A notice that waits, and for whom."""

    notice: Notice
    principal: str
    """The agent that left it."""
    user: str | None
    """For whom that agent acted; None where it acted for nobody but itself."""


def told(notices: Sequence[Notice]) -> str:
    """Notices as one text for a model, which says whose words they are; each is one line of it."""
    lines = "\n".join(notice.to_text() for notice in notices)
    return f"Notices that you left for yourself earlier; they are not the user's words:\n{lines}"
