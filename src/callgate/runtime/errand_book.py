"""The errands of one process: calls that were begun and are asked about later. Knows no gate."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from callgate.model.context import Context
    from callgate.model.outcome import Outcome

MOST_RUNNING = 1000
"""Calls that are begun and have not ended, in one process."""
MOST_OF_ONE = 200
"""Of these, of one agent."""
_MOST_KEPT = 1000
"""Outcomes that are kept in memory after their calls ended; what has a key is in the ledger as well."""
_MOST_BYTES = 64 * 1024 * 1024
"""Of these, as they are told; the newest one is kept whatever it takes."""


@dataclass(slots=True)
class Errand:
    """One call that was begun, and how it ended."""

    id: str
    tool: str
    context: Context
    outcome: Outcome | None = None
    """None while it runs."""
    size: int = 0
    """The bytes of the outcome, as it is told."""


@dataclass(slots=True)
class ErrandBook:
    """The errands of one process, the oldest first."""

    running: dict[str, Errand] = field(default_factory=dict[str, Errand])
    ended: OrderedDict[str, Errand] = field(default_factory=OrderedDict[str, Errand])
    kept_bytes: int = 0
    """What the outcomes of those that ended take."""

    def is_full(self, principal: str) -> bool:
        """Whether no more of this agent's calls may be begun now."""
        own = sum(errand.context.principal == principal for errand in self.running.values())
        return own >= MOST_OF_ONE or len(self.running) >= MOST_RUNNING

    def end(self, errand: Errand) -> None:
        """It runs no more; of those that ended, only so many and so much is kept."""
        self.running.pop(errand.id, None)
        if errand.outcome is None:
            return
        self.ended[errand.id] = errand
        self.kept_bytes += errand.size
        while len(self.ended) > 1 and (len(self.ended) > _MOST_KEPT or self.kept_bytes > _MOST_BYTES):
            self.kept_bytes -= self.ended.popitem(last=False)[1].size

    def find(self, errand_id: str) -> Errand | None:
        """One of them, as long as it is kept."""
        return self.running.get(errand_id) or self.ended.get(errand_id)
