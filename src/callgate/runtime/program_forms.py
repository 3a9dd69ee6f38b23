"""What is kept of a program, as values and as the JSON that is sealed. Knows no store."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from callgate.model.canonical import dumps
from callgate.model.context import Context
from callgate.model.context_form import context_from_json, context_to_json
from callgate.model.program import Planned, ProgramError, ProgramLimits, ProgramRun, ProgramState, Waiting


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """What was asked for; it never changes."""

    id: str
    source: str
    inputs: dict[str, Any]
    context: Context
    limits: ProgramLimits
    dry_run: bool
    started_at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Where a program stands, and who runs it."""

    state: ProgramState
    turn: int = 0
    """Rises whenever somebody takes it up; what an earlier one would write is refused."""
    owner: str = ""
    segments: int = 0
    calls: int = 0
    value: Any = None
    printed: str = ""
    error: ProgramError | None = None
    waiting: tuple[Waiting, ...] = ()
    plan: tuple[Planned, ...] = ()
    exact: tuple[dict[str, Any], ...] = ()
    """The calls of the plan as they are to be made: ordinal, tool, arguments."""
    real: bool = True
    """Whether calls have effects from here on; a dry run's do not."""
    journal: str = ""
    """The digest of every segment of its journal so far: none of them is another's, or an older one."""
    snapshot: str = ""
    """The digest of the state of its interpreter that is kept, if one is."""
    after: int = 0
    """Where its events were when somebody took it up: what is told of it since comes behind that."""

    def shown(self, program_id: str) -> ProgramRun:
        """As its asker sees it."""
        return ProgramRun(
            id=program_id,
            state=self.state,
            value=self.value,
            printed=self.printed,
            error=self.error,
            waiting=self.waiting,
            calls=self.calls,
            plan=self.plan,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """A state of the interpreter, and what has to be known to go on from it."""

    engine: str
    segments: int
    """How much of the journal it has seen."""
    state: bytes
    promised: dict[int, int] = field(default_factory=dict[int, int])
    unanswered: tuple[tuple[int, str, dict[str, Any]], ...] = ()
    printed: str = ""


def program_to_bytes(program: Program) -> bytes:
    """What was asked for, to be kept."""
    return dumps(asdict(program) | {"context": context_to_json(program.context)})


def program_from_json(body: dict[str, Any]) -> Program:
    """What was asked for, from what was kept."""
    facts: dict[str, Any] = body | {
        "context": context_from_json(body["context"]),
        "limits": ProgramLimits(**body["limits"]),
    }
    return Program(**facts)


def standing_from_json(body: dict[str, Any]) -> Standing:
    """Where a program stands, from what was kept."""
    error = body["error"]
    facts: dict[str, Any] = body | {
        "state": ProgramState(body["state"]),
        "error": None if error is None else ProgramError(**error),
        "waiting": tuple(Waiting(**each) for each in body["waiting"]),
        "plan": tuple(Planned(**each) for each in body["plan"]),
        "exact": tuple(body["exact"]),
    }
    return Standing(**facts)


def snapshot_to_json(snapshot: Snapshot) -> dict[str, Any]:
    """A state of the interpreter, to be kept."""
    return {
        "engine": snapshot.engine,
        "segments": snapshot.segments,
        "state": snapshot.state.hex(),
        "promised": [list(pair) for pair in snapshot.promised.items()],
        "unanswered": [list(each) for each in snapshot.unanswered],
        "printed": snapshot.printed,
    }


def snapshot_from_json(body: dict[str, Any]) -> Snapshot:
    """A state of the interpreter, from what was kept."""
    return Snapshot(
        engine=body["engine"],
        segments=body["segments"],
        state=bytes.fromhex(body["state"]),
        promised={int(call): int(ordinal) for call, ordinal in body["promised"]},
        unanswered=tuple((int(ordinal), tool, arguments) for ordinal, tool, arguments in body["unanswered"]),
        printed=body["printed"],
    )
