"""What a source of tools gives: its tools, and what failed, by name and reason."""

from __future__ import annotations

from dataclasses import dataclass

from callgate.model.levels import Origin
from callgate.model.tool import Tool


@dataclass(frozen=True, slots=True)
class Failure:
    """Something of a source that could not become a tool."""

    name: str
    """What failed: a tool, a plugin, or the source itself."""
    reason: str
    """In words a person can act on; no secrets, no traceback."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """Everything a source has right now. One bad tool harms no other."""

    tools: tuple[Tool, ...] = ()
    failures: tuple[Failure, ...] = ()
    unlisted: tuple[Tool, ...] = ()
    """What can be called and is in nobody's pool: what a server has beside its tools, for doors that pass it on."""
    developed: frozenset[str] = frozenset()
    """Tools the operator said are being worked on: new or changed, they need no look unless they became looser."""
    switched_on: frozenset[str] = frozenset()
    """Tools that were there all along and that the operator switched on: new to the gate, they need no look."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceReport:
    """How a source stands after it was loaded, or loaded again."""

    source: str
    origin: Origin
    tools: tuple[str, ...] = ()
    """Names of the tools it serves, the quarantined ones included."""
    failures: tuple[Failure, ...] = ()
    quarantined: tuple[tuple[str, str], ...] = ()
    """Tools that wait until somebody looks at them, and why."""
    stale: bool = False
    """The last loading failed as a whole, and what was there before goes on serving."""

    @property
    def missing(self) -> str | None:
        """Why nothing of it is there; None where something is."""
        own = (failure.reason for failure in self.failures if failure.name == self.source)
        return None if self.tools else next(own, None)

    @property
    def ok(self) -> bool:
        """Whether everything loaded."""
        return not self.failures and not self.stale
