"""Attempt: the ledger's row for one key, `started -> succeeded | failed | unknown`."""

from __future__ import annotations

import enum
from typing import NamedTuple

from callgate.model.levels import Happened

_CAUSES = {
    "timeout": "it took longer than it may",
    "cancelled": "its caller let it go while it ran",
    "network": "the connection broke while it ran",
    "owner_died": "the process that ran it ended before it did",
    "unreported": "its host was allowed to run it, and never reported how it ended",
    "handler_timeout": "it gave up by itself, while it waited for something",
    "nested": "a call inside it is not finished",
    "earlier": "it did nothing itself, and an attempt before it under this key may have",
}


class AttemptKey(NamedTuple):
    """What makes a ledger row unique (the tenant is the store)."""

    principal: str
    session: str
    key: str


class AttemptState(enum.StrEnum):
    """Where an attempt stands."""

    STARTED = "started"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    UNKNOWN = "unknown"


# Known by name: Python 3.11 takes ten times as long to find a member of an enum.
_STARTED, _, _FAILED, _UNKNOWN = AttemptState
_POSSIBLE = Happened.POSSIBLE


class Attempt(NamedTuple):
    """One key's row. Only the ledger's transition function makes a changed one."""

    key: AttemptKey
    call_id: str
    """The latest call that ran under this key."""
    trace_id: str
    tool: str
    definition_hash: str
    fingerprint: str
    """Of the arguments that were asked for; recall and matching use this one."""
    final_fingerprint: str
    """Of what runs, after a person's edit."""
    state: AttemptState
    owner: str
    """The process that runs it."""
    fence: int
    """Rises with every take-over; an older owner's writes are refused."""
    happened: Happened | None = None
    """For failed ones: what may have been left behind. For running and unknown ones: what attempts before it under this
    key, or calls inside it, may have.
    """
    tries: int = 1
    idempotent: bool = False
    has_verify: bool = False
    horizon: float = 0.0
    started_at: float = 0.0
    ended_at: float | None = None
    deadline: float | None = None
    """For judged calls: silence until then becomes unknown."""
    outcome: bytes | None = None
    """The recorded outcome in its stored form, redacted: JSON, read only where somebody wants to know."""
    approval_id: str | None = None
    sealed_id: str | None = None
    """Where the exact arguments are sealed."""
    cause: str | None = None
    """Why it is unknown: timeout, cancelled, network, handler_timeout, owner_died, unreported, earlier; or why it is
    not finished, also where it left nothing: nested, at a call inside it. A running one goes on after that.
    """
    resolved_by: str | None = None

    @property
    def told_cause(self) -> str:
        """The cause in words; empty where there is none."""
        return "" if self.cause is None else _CAUSES.get(self.cause, self.cause.replace("_", " "))

    @property
    def open_question(self) -> bool:
        """Whether nobody knows if it took effect: it is unknown, or failed where it may have."""
        if self.state is _FAILED:
            return self.happened is _POSSIBLE
        return self.state is _UNKNOWN

    @property
    def unresolved(self) -> bool:
        """Whether an equal call under another key must wait for it: it is unknown, or was and is being tried again."""
        return self.state is _UNKNOWN or (self.happened is _POSSIBLE and self.state is _STARTED)
