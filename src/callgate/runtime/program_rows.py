"""What is kept of programs: sealed rows that only this store's key opens, so that nobody can write a program's past.

`program:ID` is what was asked and never changes; `program:ID:state` is where it stands and who runs it; `program:ID:0`
and on are the segments of its journal; `program:ID:snapshot` is a state of its interpreter, which is only a cache.
The state has the digests of the others, and the program's events have the state's turn and its digest: a row that is
put back as it was before is found, unless the audit log is rolled back with it, which `verify_audit` finds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from callgate.errors import ProgramConflict, ProgramNotFound, StoreError
from callgate.events.row_digest import ROW_DIGEST
from callgate.events.vocabulary import KINDS, PROGRAM_STARTED, PROGRAM_WOKE
from callgate.model.attempt import AttemptKey
from callgate.model.canonical import dumps, loads
from callgate.model.event import Draft, Event
from callgate.model.program import OVER, ProgramState
from callgate.pipeline.seal import keep_until
from callgate.pipeline.shield import written
from callgate.runtime.program_forms import (
    Program,
    Snapshot,
    Standing,
    program_from_json,
    program_to_bytes,
    snapshot_from_json,
    snapshot_to_json,
    standing_from_json,
)

if TYPE_CHECKING:
    from callgate.pipeline.parts import Parts
    from callgate.ports import Reader, Transaction

_BEGUN = frozenset({PROGRAM_STARTED, PROGRAM_WOKE})
_FURTHEST = 10_000
"""How many calls behind the journal's end are looked for in the ledger."""


class Rows:
    """The rows of one program."""

    def __init__(self, parts: Parts, program_id: str) -> None:
        self._parts = parts
        self.id = program_id
        self.turn = 0

    async def create(self, program: Program, *, digest: str) -> Standing | None:
        """Keep a new program; None if there is one with its id already."""
        owner = self._parts.store.owner
        standing = Standing(state=ProgramState.RUNNING, turn=1, owner=owner, real=not program.dry_run)
        body = program_to_bytes(program)
        begun = self._draft(program, PROGRAM_STARTED, turn=1, digest=digest, dry_run=program.dry_run)

        def unit(tx: Transaction) -> bool:
            if tx.sealed(self._name()) is not None:
                return False
            self._put(tx, self._name(), body)
            self._put_standing(tx, standing)
            tx.append(begun)
            return True

        self.turn = 1
        return standing if await self._parts.store.write(unit) else None

    async def program(self) -> Program:
        """What was asked for.

        Raises:
            ProgramNotFound: There is none, or its retention ended.
            ProgramConflict: It was changed by somebody without the key.
        """
        body = await self._read(self._name())
        if body is None:
            raise ProgramNotFound(f"Unknown program: {self.id}")
        return program_from_json(loads(body))

    async def standing(self) -> Standing:
        """Where it stands; one that nobody runs any more is interrupted.

        Raises:
            ProgramNotFound: There is none, or its retention ended.
            ProgramConflict: It was changed by somebody without the key, or is not the newest that was kept.
        """
        standing = (await self._newest()).standing
        store = self._parts.store
        gone = standing.owner != store.owner and not store.owner_alive(standing.owner)
        if standing.state is ProgramState.RUNNING and gone:
            return replace(standing, state=ProgramState.INTERRUPTED)
        return standing

    async def take(self, program: Program, seen: Standing, *, anew: bool = False) -> Standing:
        """Run it from here on; `anew`, without the journal it has.

        Raises:
            ProgramConflict: Somebody else was faster, or it is not the newest that was kept.
        """
        newest = await self._newest()
        if newest.standing.state is ProgramState.RUNNING:
            # No event tells how far it came: what it did tells whether it had come further than its row says.
            await self._look_behind(program, newest.standing)
        taken = replace(
            seen,
            state=ProgramState.RUNNING,
            turn=seen.turn + 1,
            owner=self._parts.store.owner,
            waiting=(),
            after=newest.told.position,
        )
        if anew:
            taken = replace(taken, segments=0, journal="", snapshot="", calls=0)
        woke = self._draft(program, PROGRAM_WOKE, turn=taken.turn, calls=seen.calls)

        def unit(tx: Transaction) -> None:
            self._fence(tx, seen.turn)
            if anew:
                # What a dry run kept, its interpreter's state above all, is never gone on from in earnest.
                self._forget(tx, seen.segments)
            self._put_standing(tx, taken)
            tx.append(woke)

        await self._parts.store.write(unit)
        self.turn = taken.turn
        return taken

    async def journal(self, standing: Standing) -> list[list[list[Any]]]:
        """The segments of its journal.

        Raises:
            ProgramConflict: One is missing, was changed, or is an older one.
        """
        found: list[list[list[Any]]] = []
        digest = ""
        for at in range(standing.segments):
            body = await self._read(self._name(str(at)))
            if body is None:
                raise ProgramConflict(f"a part of the journal of program {self.id} is missing")
            digest = self._digest("journal", digest.encode() + body)
            found.append(loads(body)["entries"])
        if digest != standing.journal:
            raise ProgramConflict(f"a part of the journal of program {self.id} is not the one that was kept last")
        return found

    async def add(self, entries: list[list[Any]], standing: Standing) -> tuple[Standing, bool]:
        """Keep another segment of the journal: where it stands then, and whether its runner was cancelled meanwhile.

        Raises:
            ProgramConflict: Somebody else runs it by now.
        """
        at, body = standing.segments, dumps({"entries": entries})
        digest = self._digest("journal", standing.journal.encode() + body)
        kept = replace(standing, segments=at + 1, journal=digest)

        def unit(tx: Transaction) -> None:
            self._fence(tx, self.turn)
            self._put(tx, self._name(str(at)), body)
            self._put_standing(tx, kept)

        return kept, await self._written(unit)

    async def rest(
        self, program: Program, standing: Standing, event: str, snapshot: Snapshot | None = None
    ) -> tuple[Standing, bool]:
        """It stops here: where it stands then, and whether its runner was cancelled meanwhile.

        Raises:
            ProgramConflict: Somebody else runs it by now.
        """
        over = standing.state in OVER
        cache = None if snapshot is None else dumps(snapshot_to_json(snapshot))
        if over or cache is not None:
            standing = replace(standing, snapshot="" if cache is None else self._digest("snapshot", cache))
        facts: dict[str, Any] = {"calls": standing.calls, "state": standing.state.value}
        if standing.error is not None:
            facts["error"] = standing.error.kind
        if standing.waiting:
            facts["approvals"] = [each.approval_id for each in standing.waiting]
        facts[ROW_DIGEST] = self._digest("state", dumps(asdict(standing)))
        stopped = self._draft(program, event, turn=standing.turn, **facts)

        def unit(tx: Transaction) -> None:
            self._fence(tx, standing.turn)
            self._put_standing(tx, standing)
            if cache is not None:
                self._put(tx, self._name("snapshot"), cache)
            if over:
                self._let_go(tx, standing.segments)
            tx.append(stopped)

        return standing, await self._written(unit)

    async def snapshot(self, standing: Standing) -> Snapshot | None:
        """The last state of its interpreter.

        Raises:
            ProgramConflict: It was changed by somebody without the key, or is an older one.
        """
        body = await self._read(self._name("snapshot"))
        if body is None:
            return None
        if self._digest("snapshot", body) != standing.snapshot:
            raise ProgramConflict(f"the state of the interpreter of program {self.id} is not the one kept last")
        return snapshot_from_json(loads(body))

    async def _newest(self) -> _Newest:
        """Its state, and the event that tells of it last."""

        def query(reader: Reader) -> tuple[bytes, Standing, list[Event]] | None:
            blob = reader.sealed(self._name("state"))
            if not blob:
                return None
            body = self._open(self._name("state"), blob)
            standing = standing_from_json(loads(body))
            return body, standing, reader.events(types=("program.*",), call=self.id, after=standing.after)

        found = await self._parts.store.read(query)
        if found is None:
            raise ProgramNotFound(f"Unknown program: {self.id}")
        body, standing, events = found
        if not events or not self._tells_of(events[-1], standing, body):
            message = f"what was kept of program {self.id} is not what was recorded of it last, and is not trusted"
            raise ProgramConflict(message)
        return _Newest(standing, events[-1])

    def _tells_of(self, event: Event, standing: Standing, body: bytes) -> bool:
        facts = event.payload or {}
        if facts.get("turn") != standing.turn:
            return False
        if event.type in _BEGUN:
            return standing.state is ProgramState.RUNNING
        return facts.get(ROW_DIGEST) == self._digest("state", body)

    async def _look_behind(self, program: Program, standing: Standing) -> None:
        """A call is in the journal before it has an effect: one that is not was taken out of it."""
        who = program.context
        end = min(program.limits.calls, standing.calls + _FURTHEST)
        keys = [AttemptKey(who.principal, who.session, effect_key(program, at)) for at in range(standing.calls, end)]

        def query(reader: Reader) -> bool:
            return any(reader.attempt(key) is not None for key in keys)

        if standing.real and await self._parts.store.scan(query):
            message = f"program {self.id} has made calls that its journal does not have: an older one was put back"
            raise ProgramConflict(message)

    def _let_go(self, tx: Transaction, segments: int) -> None:
        """What is over is kept for as long as everything else that was sealed, and not for ever."""
        until = keep_until(self._parts)
        for name in (self._name(), self._name("state"), *(self._name(str(at)) for at in range(segments))):
            blob = tx.sealed(name)
            if blob is not None:
                tx.put_sealed(name, blob, keep_until=until)
        if tx.sealed(self._name("snapshot")) is not None:
            _drop(tx, self._name("snapshot"))

    def _forget(self, tx: Transaction, segments: int) -> None:
        for part in (*(str(at) for at in range(segments)), "snapshot"):
            _drop(tx, self._name(part))

    def _fence(self, tx: Transaction, turn: int) -> None:
        blob = tx.sealed(self._name("state"))
        if not blob or loads(self._open(self._name("state"), blob))["turn"] != turn:
            raise ProgramConflict(f"program {self.id} is run by somebody else by now")

    async def _written(self, unit: Callable[[Transaction], None]) -> bool:
        """Write, and know whether it was written also when cancelled meanwhile; whether that happened."""
        _, let_go = await written(self._parts.store.submit(unit))
        return let_go

    def _put_standing(self, tx: Transaction, standing: Standing) -> None:
        self._put(tx, self._name("state"), dumps(asdict(standing)))

    def _put(self, tx: Transaction, name: str, body: bytes) -> None:
        # Until it is over: a program may sleep for as long as people take.
        tx.put_sealed(name, self._parts.keys.seal(body, bound_to=name.encode()), keep_until=None)

    async def _read(self, name: str) -> bytes | None:
        blob = await self._parts.store.read(lambda reader: reader.sealed(name))
        return None if not blob else self._open(name, blob)

    def _open(self, name: str, blob: bytes) -> bytes:
        try:
            return self._parts.keys.unseal(blob, bound_to=name.encode())
        except StoreError as error:
            message = f"what was kept of program {self.id} was changed by somebody without the key, and is not trusted"
            raise ProgramConflict(message) from error

    def _digest(self, part: str, body: bytes) -> str:
        return self._parts.keys.fingerprint(f"program {part}\0".encode() + body)

    def _name(self, part: str | None = None) -> str:
        return f"program:{self.id}" if part is None else f"program:{self.id}:{part}"

    def _draft(self, program: Program, event: str, **facts: Any) -> Draft:
        who = {"principal": program.context.principal, "session": program.context.session, "role": program.context.role}
        return Draft(
            type=event,
            time=self._parts.clock.now(),
            trace=program.context.trace_id,
            # Its events are found by this, however many programs share the trace.
            call=self.id,
            severity=KINDS[event].severity,
            payload={"program_id": self.id} | who | facts,
        )


class _Newest(NamedTuple):
    """Where a program stands, and the event that says so."""

    standing: Standing
    told: Event


def effect_key(program: Program, ordinal: int) -> str:
    """An effect is known by its place in the program, so that the program run again meets the ledger."""
    return f"program:{program.id}:{ordinal}"


def _drop(tx: Transaction, name: str) -> None:
    """A row is emptied now, and gone with the next that are dropped because their time is up."""
    tx.put_sealed(name, b"", keep_until=0.0)
