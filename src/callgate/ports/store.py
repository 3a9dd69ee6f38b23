"""What the gate asks of a store: consistent views, atomic units of work, durability. One contract suite holds them all.

Nothing here knows how any of it is done (`tests/contracts/`).
"""

from __future__ import annotations

from asyncio import Future
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from callgate.model.approval import Approval, ApprovalState, Grant
from callgate.model.attempt import Attempt, AttemptKey, AttemptState
from callgate.model.event import Draft, Event
from callgate.ports.stored import Checkpoint, Count, Document, Head, Past, Reading

T = TypeVar("T")


class Reader(Protocol):
    """A consistent view of the store. Synchronous: it runs where the data is."""

    def attempt(self, key: AttemptKey) -> Attempt | None:
        """The ledger row of a key."""
        ...

    def attempt_of_call(self, call_id: str) -> Attempt | None:
        """The ledger row whose latest call has this id."""
        ...

    def unresolved(self, principal: str, session: str, fingerprint: str) -> Attempt | None:
        """A row of this session with this fingerprint (asked or final) that is `unresolved`."""
        ...

    def succeeded_since(self, principal: str, session: str, fingerprint: str, since: float) -> bool:
        """Whether an equal call of this session succeeded at or after `since`."""
        ...

    def holder(self, key: AttemptKey) -> tuple[int, str, str] | None:
        """Who holds a key: the row's fence, owner and latest call."""
        ...

    def past(self, key: AttemptKey, fingerprint: str, since: float) -> Past:
        """The row of a key, and `unresolved` and `succeeded_since` of its session and that fingerprint, in one look."""
        ...

    def attempts(
        self,
        *,
        state: AttemptState | None = None,
        owner: str | None = None,
        behind: str | None = None,
        limit: int | None = None,
        newest_first: bool = False,
    ) -> list[Attempt]:
        """Ledger rows, oldest first unless told; with `limit`, the first so many of that order.

        With `behind`, only what comes after the row whose latest call has that id.
        """
        ...

    def unended(self, owner: str | None = None) -> list[Attempt]:
        """Rows whose call may still run, of one owner or of all, oldest first; without those that cannot be read.

        Costs what is found, and not what is recorded.
        """
        ...

    def open_attempts(
        self, *, behind: str | None = None, limit: int | None = None, newest_first: bool = False
    ) -> list[Attempt]:
        """Rows of which nobody knows whether they took effect, as `attempts` orders them."""
        ...

    def open_count(self) -> int:
        """How many rows `open_attempts` has, without reading them."""
        ...

    def approval(self, approval_id: str) -> Approval | None:
        """One approval. What is found by anything but what it says itself comes without its seal, here and below."""
        ...

    def latest_approval(
        self, principal: str, session: str, tool: str, fingerprint: str, *, key: str | None = None
    ) -> Approval | None:
        """The newest approval for this asked fingerprint, whatever its state; with `key`, only one for that key.

        Those of plans are found by their key alone.
        """
        ...

    def approvals_of_plan(self, plan_id: str) -> list[Approval]:
        """The approvals of one plan, as they were put."""
        ...

    def latest_plan(self, principal: str, session: str, digest: str) -> str | None:
        """The id of the newest plan of this session with that digest, whatever its state."""
        ...

    def approvals(
        self,
        *,
        states: Iterable[ApprovalState] | None = None,
        session: str | None = None,
        within: str | None = None,
        principal: str | None = None,
        overdue: float | None = None,
        behind: str | None = None,
        limit: int | None = None,
        newest_first: bool = False,
    ) -> list[Approval]:
        """Approvals, oldest first unless told; with `limit`, the first so many of that order.

        With `within`, those of that session and of all below it; with `overdue`, those whose time is up by then; with
        `behind`, what comes after the approval, or the plan, of that id in this order.
        """
        ...

    def pending_count(self, principal: str, session: str, *, now: float | None = None) -> int:
        """How many questions of this session wait, a plan for one; with `now`, only those whose time is not up then."""
        ...

    def all_pending_count(self, *, now: float) -> int:
        """As `pending_count`, of everybody's."""
        ...

    def grants(self, *, principal: str | None = None, tool: str | None = None) -> list[Grant]:
        """Grants that are not revoked, oldest first; expiry is for the caller to judge."""
        ...

    def grant(self, grant_id: str) -> Grant | None:
        """One grant, revoked or not."""
        ...

    def sealed(self, sealed_id: str) -> bytes | None:
        """A sealed blob, None once its retention ended."""
        ...

    def events(
        self,
        *,
        after: int = 0,
        types: Sequence[str] | None = None,
        trace: str | None = None,
        call: str | None = None,
        stream: str | None = None,
        limit: int | None = None,
    ) -> list[Event]:
        """Events in append order with a position above `after`; all filters hold.

        `types` are exact names or globs; `limit=0` is none.
        """
        ...

    def last_position(self) -> int:
        """The position of the newest event; 0 while there is none."""
        ...

    def heads(self) -> dict[str, Head]:
        """The last event of every stream."""
        ...

    def checkpoints(self) -> list[Checkpoint]:
        """Signed checkpoints, oldest first."""
        ...

    def reading(self, user: str, project: str, path: str) -> Reading | None:
        """What was last read from a source."""
        ...

    def meta(self, name: str) -> str | None:
        """A named value of the store itself."""
        ...

    def projection(self, name: str, key: str) -> dict[str, Any] | None:
        """One entry of a projection."""
        ...

    def projections(
        self,
        name: str,
        *,
        limit: int | None = None,
        newest_first: bool = False,
        below: str | None = None,
        equal: Mapping[str, str] | None = None,
        skip: int = 0,
    ) -> list[dict[str, Any]]:
        """A projection's entries by their key; with `below`, those whose key is less.

        With `equal`, only those whose fields have these values; `skip` leaves out the first so many of what fits.
        """
        ...

    def projections_since(
        self, name: str, since: float, *, until: float | None = None, limit: int | None = None
    ) -> list[dict[str, Any]]:
        """Entries whose `asked_at` is not before `since`, and before `until`; the one that was asked last first."""
        ...

    def counts(self, name: str, *, since: float, stretch: float) -> list[Count]:
        """How many entries whose `asked_at` is not before `since` are alike, by stretches of so many seconds."""
        ...

    def middle_duration(self, name: str, *, since: float, statuses: Iterable[str]) -> float | None:
        """The middle `duration_ms` of entries asked not before `since` that stand so; None where none says any."""
        ...

    def document(self, area: str, key: str) -> dict[str, Any] | None:
        """What a tool keeps under this key."""
        ...

    def documents(
        self,
        area: str,
        *,
        prefix: str = "",
        after: str | None = None,
        limit: int | None = None,
        newest_first: bool = False,
    ) -> list[Document]:
        """What is kept in an area under keys that begin so, in the order of its keys, or from the last key on.

        With `after`, only what comes behind that key in this order; with `limit`, the first so many.
        """
        ...


class Transaction(Reader, Protocol):
    """One atomic unit of work. What it reads includes what it wrote."""

    def put_attempt(self, attempt: Attempt) -> None:
        """Insert or replace a ledger row."""
        ...

    def add_attempt(self, attempt: Attempt) -> None:
        """Insert the first row of a key that was made for it and is therefore free; nobody looks."""
        ...

    def put_approval(self, approval: Approval) -> None:
        """Insert or replace an approval."""
        ...

    def put_grant(self, grant: Grant) -> None:
        """Insert or replace a grant."""
        ...

    def put_sealed(self, sealed_id: str, blob: bytes, *, keep_until: float | None) -> None:
        """Keep a sealed blob."""
        ...

    def drop_sealed(self, *, before: float) -> int:
        """Drop blobs whose retention ended before that time; how many."""
        ...

    def append(self, draft: Draft) -> None:
        """Add an event to this process's stream; it is chained in the order of appending."""
        ...

    def erase_payloads(self, event_ids: Sequence[str]) -> int:
        """Forget payloads and salts; the chain still verifies. How many were there."""
        ...

    def put_checkpoint(self, checkpoint: Checkpoint) -> None:
        """Keep a signed checkpoint."""
        ...

    def put_reading(self, user: str, project: str, path: str, reading: Reading) -> None:
        """Remember what was read; the oldest are dropped beyond a bound."""
        ...

    def put_meta(self, name: str, value: str) -> None:
        """Set a named value of the store itself."""
        ...

    def put_projection(self, name: str, key: str, body: dict[str, Any]) -> None:
        """Insert or replace an entry of a projection."""
        ...

    def clear_projection(self, name: str) -> None:
        """Drop a projection, to rebuild it."""
        ...

    def put_document(self, area: str, key: str, body: dict[str, Any]) -> None:
        """Keep something for a tool, in place of what was there. Secrets are struck from it already."""
        ...

    def drop_document(self, area: str, key: str) -> bool:
        """Forget it; whether it was there."""
        ...


class Store(Protocol):
    """Where everything is remembered. One store is one tenant."""

    @property
    def owner(self) -> str:
        """This process's (this gate's) own stream."""
        ...

    @property
    def store_id(self) -> str:
        """Made once, when the store was."""
        ...

    async def open(self, look: Callable[[Reader], None] | None = None) -> None:
        """Open, check the schema version, migrate, take the owner's lock, start the stream.

        Args:
            look: Sees what is there before the stream is started. What it raises comes out here, and nothing was
                recorded. It may be called on another thread, and more than once.

        Raises:
            StoreError: With what to do.
        """
        ...

    async def close(self, *, still_running: bool = False) -> None:
        """Flush what is written behind and let go. Twice is once.

        Args:
            still_running: A handler of this owner outlives its gate: the owner counts as alive until its process ends.
        """
        ...

    async def write(self, unit: Callable[[Transaction], T]) -> T:
        """Run a unit of work and return when it is durable.

        The unit must be a function of the transaction alone: it may run again when another unit of the same commit
        failed. If it raises, nothing of it remains and the exception comes out here.

        Raises:
            StoreUnavailable: It could not be made durable; nothing of it remains.
        """
        ...

    def submit(self, unit: Callable[[Transaction], T]) -> Future[T]:
        """As `write`, begun at once, for what must not be taken back: the future cannot be cancelled.

        Raises:
            StoreUnavailable: The store is not open.
        """
        ...

    def behind(self, draft: Draft) -> None:
        """Add an event soon: bounded, in order with everything else, flushed on close.

        Raises:
            StoreUnavailable: The writer has failed.
        """
        ...

    async def flush(self) -> None:
        """Wait until everything written behind is durable."""
        ...

    async def read(self, query: Callable[[Reader], T]) -> T:
        """Run a short query on a consistent view."""
        ...

    async def peek(self, query: Callable[[Reader], T]) -> T:
        """As `read`, cheaper, for one question: where a query puts several, each may see a later state."""
        ...

    async def scan(self, query: Callable[[Reader], T]) -> T:
        """Run a long query (verify, export) on a consistent view, off the event loop where that helps."""
        ...

    def forget_owner(self, owner: str) -> None:
        """Nothing of that owner, proven gone, is left to recover; drop what its liveness was known by."""
        ...

    def owner_alive(self, owner: str) -> bool:
        """Whether that process is still there; True when it cannot be proven gone."""
        ...

    def handles_for_children(self) -> tuple[int, ...]:
        """Handles by which this owner counts as alive for as long as any process has them open. To be left open."""
        ...

    def gone_owners(self) -> list[str]:
        """Other owners that are proven gone and were not forgotten yet. Asked by calls, many times a second."""
        ...

    def subscribe(self, listener: Callable[[Sequence[Event]], None]) -> None:
        """Call `listener` on the event loop after each durable append of this process."""
        ...
