"""Witnesses: what signed checkpoints, anchors and the openings of streams say the heads were."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, cast

from callgate.events.anchor import Anchor, Anchored, meant
from callgate.events.checkpoint import CHAIN, digest_of, number_of, stream_heads
from callgate.events.links import Marks, Stream
from callgate.events.report import Findings, Place, moment
from callgate.events.signature import fault_of
from callgate.model.event import GENESIS, Event
from callgate.ports import Checkpoint, Head


class Witnesses:
    """Gathers what was seen before the events are read, so that each event can be compared as it passes."""

    def __init__(self, findings: Findings) -> None:
        self.signed: dict[str, int] = {}
        """The last signed event of every stream."""
        self.anchored: dict[str, int] = {}
        """The last event of every stream that something outside the store knows of."""
        self.signed_until: float | None = None
        self.anchored_until: float | None = None
        self._findings = findings
        self._marks: dict[str, dict[int, tuple[tuple[str, str], ...]]] = {}
        self._furthest: dict[str, tuple[int, str]] = {}
        self._store_id: str | None = None

    @property
    def marks(self) -> Mapping[str, Marks]:
        """What was seen, by stream and number."""
        return self._marks

    def hear_checkpoints(
        self, checkpoints: Iterable[Checkpoint], *, public_keys: Mapping[str, bytes], anchored: Anchored | None = None
    ) -> None:
        """Check the chain of checkpoints and their signatures, and compare it with what is anchored outside."""
        known: dict[int, str] = {}
        before = Head(-1, GENESIS)
        until = -1 if anchored is None or anchored.last is None else anchored.last.number
        for checkpoint in checkpoints:
            cited = checkpoint.heads.get(CHAIN, Head(-1, GENESIS))
            if cited != before:
                self._broken_chain(checkpoint, cited, before=before)
            before = Head(number_of(checkpoint), digest_of(checkpoint))
            known[before.sequence] = before.hash
            self._hear(checkpoint, public_keys, anchored=before.sequence <= until)
        if anchored is not None:
            self._hear_anchors(anchored, known)

    def hear_one(self, checkpoint: Checkpoint, *, public_keys: Mapping[str, bytes]) -> None:
        """Check one checkpoint alone, without the chain it belongs to."""
        self._hear(checkpoint, public_keys, anchored=False)

    def hear_opening(self, event: Event) -> None:
        """What a process saw of the other streams when it began its own."""
        payload = event.payload or {}
        store_id = payload.get("store_id")
        if isinstance(store_id, str):
            self._store_id = self._store_id or store_id
            if store_id != self._store_id:
                place = Place(event.stream, event.sequence)
                self._findings.wrong(f"stream {event.stream} was opened for another store, {store_id}", place)
        who = f"stream {event.stream}, opened {moment(event.time)},"
        for name, head in _cited(payload.get("heads")).items():
            self._mark(name, head, who=who)

    def look_for_cuts(self, streams: Mapping[str, Stream]) -> None:
        """Say which streams end before, or are gone though, somebody saw them."""
        for name, (sequence, who) in self._furthest.items():
            stream = streams.get(name)
            if stream is None:
                sentence = f"stream {name} was dropped: {who} saw {sequence + 1} events of it, and none is left"
                self._findings.wrong(sentence, Place(name, 0))
            elif stream.next <= sequence:
                sentence = f"stream {name} was cut: {who} saw its event {sequence}, and it ends at {stream.next - 1}"
                self._findings.wrong(sentence, Place(name, stream.next))

    def _hear(self, checkpoint: Checkpoint, public_keys: Mapping[str, bytes], *, anchored: bool) -> None:
        who = f"the checkpoint of {moment(checkpoint.time)}"
        fault = fault_of(checkpoint, public_keys)
        if fault is not None:
            self._findings.wrong(f"{who} (number {number_of(checkpoint)}) {fault}")
            return
        self.signed_until = checkpoint.time
        for name, head in stream_heads(checkpoint).items():
            self._mark(name, head, who=who)
            self.signed[name] = max(head.sequence, self.signed.get(name, -1))
            if anchored:
                self.anchored[name] = max(head.sequence, self.anchored.get(name, -1))

    def _hear_anchors(self, anchored: Anchored, known: Mapping[int, str]) -> None:
        if anchored.problem is not None:
            self._findings.wrong(anchored.problem)
        for note in anchored.notes:
            self._findings.note(note)
        before = len(self._findings.problems)
        for anchor in anchored.entries if anchored.copy_of is None else self._of_copy(anchored, known):
            who = f"the anchor of {moment(anchor.time)}"
            for name, head in anchor.heads.items():
                self._mark(name, head, who=who)
            self._hear_anchor(anchor, known, who=who)
        if len(self._findings.problems) > before:
            self._findings.note(meant(anchored.place))
        if self.anchored_until is None:
            self.anchored = {}

    def _hear_anchor(self, anchor: Anchor, known: Mapping[int, str], *, who: str) -> None:
        seen = known.get(anchor.number)
        if seen is None:
            last = max(known, default=-1)
            ends = f"its last is number {last}" if last >= 0 else "it has none"
            self._findings.wrong(
                f"{who} saw checkpoint number {anchor.number}, which the store does not have ({ends}): "
                "its end was cut off, or an older copy was put in its place"
            )
        elif seen != anchor.digest:
            self._findings.wrong(
                f"{who} saw another checkpoint number {anchor.number}: history was rewritten, or an older copy was put "
                "in its place and used since"
            )
        else:
            self.anchored_until = anchor.time

    def _of_copy(self, anchored: Anchored, known: Mapping[int, str]) -> list[Anchor]:
        """What is anchored of a copy: the store itself may have gone on since. What only the copy has is its own."""
        anchors = {anchor.number: anchor.digest for anchor in anchored.entries}
        seen, last = dict(anchored.there or {}) | anchors, max(known, default=-1)
        # Each checkpoint stands for all before it, so that behind the last common one nothing is common.
        common = max((number for number, digest in known.items() if seen.get(number) == digest), default=-1)
        own = [number for number in known if number > common]
        other = [number for number in own if number in seen]
        if common < 0:  # nobody has one so old any more: the first that is another says how far they may have been one
            common = min([last, *(number - 1 for number in other)])
        self._findings.note(
            f"this store is a copy of the one at {anchored.copy_of}, up to its checkpoint number {common}"
        )
        if other or last > max(seen, default=last):
            self._findings.wrong(
                "it was used as a store of its own after it was copied: it has checkpoints that nobody knows outside it"
            )
        elif own:
            self._findings.note("nobody can tell whether it was used since: its last checkpoint is not found there")
        return [anchor for anchor in anchored.entries if known.get(anchor.number) == anchor.digest]

    def _broken_chain(self, checkpoint: Checkpoint, cited: Head, *, before: Head) -> None:
        who = f"the checkpoint of {moment(checkpoint.time)}"
        if cited.sequence > before.sequence:
            gone = f"{before.sequence + 1} to {cited.sequence}"
            self._findings.wrong(f"{who} follows number {cited.sequence}, but checkpoints {gone} are missing")
        else:
            self._findings.wrong(f"{who} does not follow from the one before it: the checkpoints were changed")

    def _mark(self, name: str, head: Head, *, who: str) -> None:
        seen = self._marks.setdefault(name, {})
        seen[head.sequence] = (*seen.get(head.sequence, ()), (head.hash, who))
        if head.sequence > self._furthest.get(name, (-1, ""))[0]:
            self._furthest[name] = (head.sequence, who)


def _cited(heads: Any) -> dict[str, Head]:
    """The heads an opening cites, as far as they can be read; a payload that was changed is found by its digest."""
    found: dict[str, Head] = {}
    for name, head in cast("dict[str, Any]", heads).items() if isinstance(heads, dict) else ():
        match head:
            case [int(sequence), str(digest)] | {"sequence": int(sequence), "hash": str(digest)}:
                found[name] = Head(sequence, digest)
            case _:
                continue
    return found
