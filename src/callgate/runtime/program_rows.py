"""What is kept of programs: sealed rows that only this store's key opens, so that nobody can write a program's past.

`program:ID` is what was asked and never changes; `program:ID:state` is where it stands and who runs it; `program:ID:0`
and on are the segments of its journal; `program:ID:snapshot` is a state of its interpreter, which is only a cache.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from callgate.errors import ProgramConflict, ProgramNotFound, StoreError
from callgate.events.vocabulary import KINDS, PROGRAM_STARTED, PROGRAM_WOKE
from callgate.model.canonical import dumps, loads
from callgate.model.context import Context
from callgate.model.context_form import context_from_json, context_to_json
from callgate.model.event import Draft
from callgate.model.program import OVER, Planned, ProgramError, ProgramLimits, ProgramRun, ProgramState, Waiting
from callgate.pipeline.seal import keep_until

if TYPE_CHECKING:
    from callgate.pipeline.parts import Parts
    from callgate.ports import Reader, Transaction


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


class Rows:
    """The rows of one program."""

    def __init__(self, parts: Parts, program_id: str) -> None:
        self._parts = parts
        self.id = program_id
        self.turn = 0

    async def create(self, program: Program, *, digest: str) -> bool:
        """Keep a new program; False if there is one with its id already."""
        owner = self._parts.store.owner
        standing = Standing(state=ProgramState.RUNNING, turn=1, owner=owner, real=not program.dry_run)
        body = asdict(program) | {"context": context_to_json(program.context)}
        begun = self._draft(program, PROGRAM_STARTED, digest=digest, dry_run=program.dry_run)

        def unit(tx: Transaction) -> bool:
            if tx.sealed(self._name()) is not None:
                return False
            self._put(tx, self._name(), body)
            self._put_standing(tx, standing)
            tx.append(begun)
            return True

        self.turn = 1
        return await self._parts.store.write(unit)

    async def program(self) -> Program:
        """What was asked for.

        Raises:
            ProgramNotFound: There is none, or its retention ended.
            ProgramConflict: It was changed by somebody without the key.
        """
        body = await self._read(self._name())
        if body is None:
            raise ProgramNotFound(f"Unknown program: {self.id}")
        facts: dict[str, Any] = body | {
            "context": context_from_json(body["context"]),
            "limits": ProgramLimits(**body["limits"]),
        }
        return Program(**facts)

    async def standing(self) -> Standing:
        """Where it stands; one that nobody runs any more is interrupted.

        Raises:
            ProgramNotFound: There is none, or its retention ended.
            ProgramConflict: It was changed by somebody without the key.
        """
        body = await self._read(self._name("state"))
        if body is None:
            raise ProgramNotFound(f"Unknown program: {self.id}")
        standing = _standing(body)
        store = self._parts.store
        gone = standing.owner != store.owner and not store.owner_alive(standing.owner)
        if standing.state is ProgramState.RUNNING and gone:
            return replace(standing, state=ProgramState.INTERRUPTED)
        return standing

    async def take(self, program: Program, seen: Standing, *, anew: bool = False) -> Standing:
        """Run it from here on; `anew`, without the journal it has.

        Raises:
            ProgramConflict: Somebody else was faster.
        """
        taken = replace(
            seen,
            state=ProgramState.RUNNING,
            turn=seen.turn + 1,
            owner=self._parts.store.owner,
            waiting=(),
            segments=0 if anew else seen.segments,
        )
        woke = self._draft(program, PROGRAM_WOKE, calls=seen.calls)

        def unit(tx: Transaction) -> None:
            self._fence(tx, seen.turn)
            self._forget(tx, taken.segments, seen.segments)
            self._put_standing(tx, taken)
            tx.append(woke)

        self.turn = seen.turn
        await self._parts.store.write(unit)
        self.turn = taken.turn
        return taken

    async def journal(self, segments: int) -> list[list[list[Any]]]:
        """The segments of its journal.

        Raises:
            ProgramConflict: One is missing or was changed.
        """
        found = [await self._read(self._name(str(at))) for at in range(segments)]
        if any(each is None for each in found):
            raise ProgramConflict(f"a part of the journal of program {self.id} is missing")
        return [each["entries"] for each in found if each is not None]

    async def add(self, at: int, entries: list[list[Any]], standing: Standing) -> None:
        """Keep another segment of the journal.

        Raises:
            ProgramConflict: Somebody else runs it by now.
        """

        def unit(tx: Transaction) -> None:
            self._fence(tx, self.turn)
            self._put(tx, self._name(str(at)), {"entries": entries})
            self._put_standing(tx, standing)

        await self._parts.store.write(unit)

    async def rest(self, program: Program, standing: Standing, event: str, snapshot: Snapshot | None = None) -> None:
        """It stops here: for a person, or for good.

        Raises:
            ProgramConflict: Somebody else runs it by now.
        """
        over = standing.state in OVER
        facts: dict[str, Any] = {"calls": standing.calls, "state": standing.state.value}
        if standing.error is not None:
            facts["error"] = standing.error.kind
        if standing.waiting:
            facts["approvals"] = [each.approval_id for each in standing.waiting]
        stopped = self._draft(program, event, **facts)

        def unit(tx: Transaction) -> None:
            self._fence(tx, self.turn)
            self._put_standing(tx, standing)
            if snapshot is not None:
                self._put(tx, self._name("snapshot"), _snapshot_to_json(snapshot))
            if over:
                self._let_go(tx, standing.segments)
            tx.append(stopped)

        await self._parts.store.write(unit)

    async def snapshot(self) -> Snapshot | None:
        """The last state of its interpreter.

        Raises:
            ProgramConflict: It was changed by somebody without the key.
        """
        body = await self._read(self._name("snapshot"))
        return None if body is None else _snapshot_from_json(body)

    def _let_go(self, tx: Transaction, segments: int) -> None:
        """What is over is kept for as long as everything else that was sealed, and not for ever."""
        until = keep_until(self._parts)
        for name in (self._name(), self._name("state"), *(self._name(str(at)) for at in range(segments))):
            blob = tx.sealed(name)
            if blob is not None:
                tx.put_sealed(name, blob, keep_until=until)
        if tx.sealed(self._name("snapshot")) is not None:
            _drop(tx, self._name("snapshot"))

    def _forget(self, tx: Transaction, first: int, end: int) -> None:
        for at in range(first, end):
            _drop(tx, self._name(str(at)))

    def _fence(self, tx: Transaction, turn: int) -> None:
        blob = tx.sealed(self._name("state"))
        if blob is None or self._open(self._name("state"), blob)["turn"] != turn:
            raise ProgramConflict(f"program {self.id} is run by somebody else by now")

    def _put_standing(self, tx: Transaction, standing: Standing) -> None:
        self._put(tx, self._name("state"), asdict(standing))

    def _put(self, tx: Transaction, name: str, body: dict[str, Any]) -> None:
        # Until it is over: a program may sleep for as long as people take.
        tx.put_sealed(name, self._parts.keys.seal(dumps(body), bound_to=name.encode()), keep_until=None)

    async def _read(self, name: str) -> dict[str, Any] | None:
        def query(reader: Reader) -> bytes | None:
            return reader.sealed(name)

        blob = await self._parts.store.read(query)
        return None if not blob else self._open(name, blob)

    def _open(self, name: str, blob: bytes) -> dict[str, Any]:
        try:
            return loads(self._parts.keys.unseal(blob, bound_to=name.encode()))
        except StoreError as error:
            message = f"what was kept of program {self.id} was changed by somebody without the key, and is not trusted"
            raise ProgramConflict(message) from error

    def _name(self, part: str | None = None) -> str:
        return f"program:{self.id}" if part is None else f"program:{self.id}:{part}"

    def _draft(self, program: Program, event: str, **facts: Any) -> Draft:
        who = {"principal": program.context.principal, "session": program.context.session, "role": program.context.role}
        return Draft(
            type=event,
            time=self._parts.clock.now(),
            trace=program.context.trace_id,
            severity=KINDS[event].severity,
            payload={"program_id": self.id} | who | facts,
        )


def _drop(tx: Transaction, name: str) -> None:
    """A row is emptied now, and gone with the next that are dropped because their time is up."""
    tx.put_sealed(name, b"", keep_until=0.0)


def _standing(body: dict[str, Any]) -> Standing:
    error = body["error"]
    facts: dict[str, Any] = body | {
        "state": ProgramState(body["state"]),
        "error": None if error is None else ProgramError(**error),
        "waiting": tuple(Waiting(**each) for each in body["waiting"]),
        "plan": tuple(Planned(**each) for each in body["plan"]),
        "exact": tuple(body["exact"]),
    }
    return Standing(**facts)


def _snapshot_to_json(snapshot: Snapshot) -> dict[str, Any]:
    return {
        "engine": snapshot.engine,
        "segments": snapshot.segments,
        "state": snapshot.state.hex(),
        "promised": [list(pair) for pair in snapshot.promised.items()],
        "unanswered": [list(each) for each in snapshot.unanswered],
        "printed": snapshot.printed,
    }


def _snapshot_from_json(body: dict[str, Any]) -> Snapshot:
    return Snapshot(
        engine=body["engine"],
        segments=body["segments"],
        state=bytes.fromhex(body["state"]),
        promised={int(call): int(ordinal) for call, ordinal in body["promised"]},
        unanswered=tuple((int(ordinal), tool, arguments) for ordinal, tool, arguments in body["unanswered"]),
        printed=body["printed"],
    )
