"""Program: a model's own code, run in a sandbox whose only way out is a call. The values people see of one."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any

from callgate.errors import ProgramFailed


class ProgramState(enum.StrEnum):
    """Where a program stands."""

    RUNNING = "running"
    SLEEPING = "sleeping"
    """It waits for a person, in the store; nothing of it runs anywhere."""
    PROPOSED = "proposed"
    """Its dry run is over, and the list of its effects can be looked at."""
    FINISHED = "finished"
    FAILED = "failed"
    """It raised, was no program, or reached a limit."""
    INTERRUPTED = "interrupted"
    """Whoever ran it is gone; it can go on."""


OVER = frozenset({ProgramState.FINISHED, ProgramState.FAILED})


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramLimits:
    """What a program may use. Time is that of its own code; waiting for calls does not count."""

    seconds: float = 10.0
    memory_mb: int = 64
    recursion: int = 200
    calls: int = 1000
    at_once: int = 64
    """Calls of one program that run at the same time."""
    output_bytes: int = 256 * 1024
    """Of its value, and of what it printed."""

    def __post_init__(self) -> None:
        for name in ("seconds", "memory_mb", "recursion", "calls", "at_once", "output_bytes"):
            value: Any = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < float("inf"):
                message = f"{name} must be a number above 0, not {value!r}"
                raise ValueError(message)


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """A call of a program that a person has to decide about."""

    tool: str
    approval_id: str
    expires_at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """An effect that a dry run came to, in its order; nothing of it happened."""

    tool: str
    what: str
    """The exact call, for a person."""
    verdict: str
    preview: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramError:
    """Why it did not finish; `kind`: syntax, types, raised, limit, value, refused, diverged, journal, interrupted."""

    kind: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramRun:
    """How far a program came."""

    id: str
    state: ProgramState
    value: Any = None
    """Of its last expression, once it finished."""
    printed: str = ""
    error: ProgramError | None = None
    waiting: tuple[Waiting, ...] = ()
    calls: int = 0
    """How many calls it has made."""
    plan: tuple[Planned, ...] = ()
    """What a dry run found, in order."""

    @property
    def ok(self) -> bool:
        """True only for one that finished."""
        return self.state is ProgramState.FINISHED

    def unwrap(self) -> Any:
        """The value.

        Raises:
            ProgramFailed: It has not finished, with the reason.
        """
        if self.ok:
            return self.value
        raise ProgramFailed(self.to_human())

    def to_human(self) -> str:
        """One text for a person."""
        if self.error is not None:
            return f"the program {self.state.value} ({self.error.kind}): {self.error.message}"
        if self.waiting:
            asked = ", ".join(f"{each.tool} (approval {each.approval_id})" for each in self.waiting)
            return f"the program is {self.state.value} and waits for a person: {asked}"
        return str(self.value) if self.ok else f"the program is {self.state.value}"

    def to_json(self) -> dict[str, Any]:
        """What a model is told; what does not apply is left out."""
        body: dict[str, Any] = {"program_id": self.id, "state": self.state.value, "calls": self.calls}
        if self.ok:
            body["value"] = self.value
        if self.printed:
            body["printed"] = self.printed
        if self.error is not None:
            body["error"] = {"kind": self.error.kind, "message": self.error.message}
        if self.waiting:
            body["waiting_for"] = [{"tool": each.tool, "approval_id": each.approval_id} for each in self.waiting]
        if self.plan:
            body["plan"] = [_told(each) for each in self.plan]
        return body


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramEntry:
    """A program in a listing."""

    id: str
    state: ProgramState
    principal: str
    session: str
    started_at: float
    calls: int
    waiting: tuple[Waiting, ...] = ()


def _told(planned: Planned) -> dict[str, Any]:
    body: dict[str, Any] = {"tool": planned.tool, "what": planned.what, "verdict": planned.verdict}
    return body if planned.preview is None else body | {"preview": planned.preview}
