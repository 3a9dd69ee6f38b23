"""Verifying: is the audit log what was recorded, and do ledger and approvals agree with it? Changes nothing.

Reads page by page: memory grows with the number of calls and of streams, not with what the events hold.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from callgate.errors import RowUnreadable, StoreError
from callgate.events.agreement import Agreement, Intact, question
from callgate.events.anchor import Anchored
from callgate.events.links import Links
from callgate.events.report import Findings, Report
from callgate.events.selection import Selection
from callgate.events.signature import fingerprint
from callgate.events.vocabulary import CHECKPOINT, STREAM_OPENED
from callgate.events.witness import Witnesses
from callgate.model.event import Event
from callgate.ports import Checkpoint, Keys, Reader, Store

PAGE = 2000
_UNREADABLE_AT_MOST = 100


def verify(
    reader: Reader,
    *,
    public_keys: Mapping[str, bytes],
    anchored: Anchored | None = None,
    keys: Keys | None = None,
    intact: Intact | None = None,
) -> Report:
    """Look at everything on one view of the store.

    Args:
        reader: The view.
        public_keys: Raw Ed25519 keys by key id: the gate's own, and those it had before.
        anchored: What is known outside the store, `AnchorFile.look()`; None if nothing is kept there.
        keys: The store's own; without them, rows are only held against what the events say openly.
        intact: Whether an approval or grant is as somebody with those keys left it.

    Raises:
        StoreError: The store itself failed.
    """
    work = _Verification(reader, public_keys=public_keys, anchored=anchored, agreement=(keys, intact))
    while not work.step(reader):
        pass
    return work.finish(reader)


async def verify_store(
    store: Store,
    *,
    public_keys: Mapping[str, bytes],
    anchored: Anchored | None = None,
    keys: Keys | None = None,
    intact: Intact | None = None,
) -> Report:
    """As `verify`, on everything that was recorded before; calls go on meanwhile, where the store can.

    Raises:
        StoreError: The store itself failed.
    """
    await store.flush()
    return await store.scan(
        lambda reader: verify(reader, public_keys=public_keys, anchored=anchored, keys=keys, intact=intact)
    )


class _Verification:
    """One verification on its way through the store."""

    def __init__(
        self,
        reader: Reader,
        *,
        public_keys: Mapping[str, bytes],
        anchored: Anchored | None,
        agreement: tuple[Keys | None, Intact | None],
    ) -> None:
        self._findings = Findings()
        self._keys = tuple(sorted(fingerprint(key) for key in public_keys.values()))
        self._witnesses = Witnesses(self._findings)
        checkpoints: list[Checkpoint] = []
        self._guard("the checkpoints", lambda: checkpoints.extend(reader.checkpoints()))
        self._witnesses.hear_checkpoints(checkpoints, public_keys=public_keys, anchored=anchored)
        self._guard("the openings of streams", lambda: self._hear_openings(reader))
        self._links = Links(self._findings, marks=self._witnesses.marks)
        self._intact = agreement[1]
        self._agreement = Agreement(self._findings, agreement[0], intact=agreement[1])
        self._after = 0
        self._unreadable = 0
        self._unsigned = 0
        self._unanchored_since: float | None = None

    def step(self, reader: Reader) -> bool:
        """Look at the next page; whether it was the last."""
        events, ended = self._read(reader)
        self._take(events)
        return ended

    def finish(self, reader: Reader) -> Report:
        """Compare what was seen with what should be there; the view must be that of the last page."""
        self._links.finish()
        self._witnesses.look_for_cuts(self._links.streams)
        self._guard("the ends of streams", lambda: self._compare_heads(reader))
        self._guard("the ledger", lambda: self._agreement.compare_ledger(reader))
        self._guard("the approvals", lambda: self._compare_approvals(reader))
        self._guard("the grants", lambda: self._agreement.compare_grants(reader))
        findings, witnesses = self._findings, self._witnesses
        return Report(
            ok=findings.ok,
            events=self._links.events,
            streams={name: stream.count for name, stream in self._links.streams.items()},
            broken_at=findings.broken_at,
            problems=findings.problems,
            notes=findings.notes,
            signed_until=witnesses.signed_until,
            unsigned=self._unsigned,
            anchored_until=witnesses.anchored_until,
            unanchored_since=self._unanchored_since,
            keys=self._keys,
        )

    def _compare_approvals(self, reader: Reader) -> None:
        found, intact = reader.approvals(), self._intact
        for approval in found:
            if not approval.mac:
                self._findings.wrong(f"approval {approval.id} ({approval.tool}) is filed as something that it is not")
        self._agreement.compare_approvals(question(one, intact=intact is None or intact(one)) for one in found)

    def _guard(self, what: str, query: Callable[[], None]) -> None:
        """Whoever changes a row into something no reader can read shall not end the verification with it."""
        try:
            query()
        except Exception as error:
            if _is_the_stores(error):
                raise
            self._findings.wrong(f"{what} cannot be read ({_why(error)}): something there was changed")

    def _hear_openings(self, reader: Reader) -> None:
        for page in Selection(types=(STREAM_OPENED,)).pages(reader):
            for event in page:
                self._witnesses.hear_opening(event)

    def _read(self, reader: Reader) -> tuple[list[Event], bool]:
        """The next page, and whether nothing follows it."""
        size = PAGE
        while True:
            try:
                events = reader.events(after=self._after, limit=size)
            except Exception as error:
                if _is_the_stores(error):
                    raise
                if size > 1:
                    size //= 2
                elif self._skip(error):
                    return [], True
                continue
            if events:
                self._after = events[-1].position
            return events, len(events) < size

    def _take(self, events: Sequence[Event]) -> None:
        """Look at some events."""
        self._links.follow(events)
        self._agreement.note(events)
        signed, anchored = self._witnesses.signed, self._witnesses.anchored
        for event in events:
            if event.sequence > anchored.get(event.stream, -1) and event.type != CHECKPOINT:
                self._unsigned += event.sequence > signed.get(event.stream, -1)
                self._unanchored_since = min(event.time, self._unanchored_since or event.time)

    def _skip(self, error: Exception) -> bool:
        """Go on behind an event that cannot be read; True when there are too many of them to go on."""
        self._after += 1
        self._unreadable += 1
        self._findings.wrong(f"the event at position {self._after} cannot be read ({_why(error)})")
        return self._unreadable >= _UNREADABLE_AT_MOST

    def _compare_heads(self, reader: Reader) -> None:
        """What the store believes its heads to be is what the next process cites."""
        streams = self._links.streams
        for name, head in reader.heads().items():
            stream = streams.get(name)
            if stream is None or (stream.next - 1, stream.hash) != (head.sequence, head.hash):
                ends = "has no event" if stream is None else f"ends with event {stream.next - 1}"
                self._findings.wrong(
                    f"the store takes event {head.sequence} for the head of stream {name}, which {ends}"
                )


def _is_the_stores(error: Exception) -> bool:
    """Whether the store itself fails: anything else is a row that was changed into something no reader can read."""
    return isinstance(error, StoreError) and not isinstance(error, RowUnreadable)


def _why(error: Exception) -> str:
    return type(error.__cause__ or error).__name__
