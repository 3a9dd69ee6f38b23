"""Export: gathers events, decisions, approvals and checkpoints into a package of evidence. Reads only.

Of a part, the events between are given as links without content, as far as the chain needs them to reach a signed head.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, BinaryIO, Self

from callgate.events.checkpoint import stream_heads, to_json
from callgate.events.evidence import contents
from callgate.events.evidence.pack import packing
from callgate.events.selection import EVERYTHING, Selection
from callgate.events.signature import fingerprint
from callgate.model.canonical import dumps
from callgate.model.event import Event
from callgate.ports import Checkpoint, Keys, Reader


def export(
    reader: Reader,
    destination: Path,
    *,
    store_id: str,
    public_keys: Mapping[str, bytes],
    now: float,
    selection: Selection = EVERYTHING,
    signer: Keys | None = None,
) -> dict[str, Any]:
    """Pack the selected events with everything needed to verify them elsewhere. The same record gives the same bytes.

    Args:
        reader: A view of the store.
        destination: A `.zip` or `.tar`, or else a folder; must not be there yet.
        store_id: Whose record it is.
        public_keys: Raw Ed25519 keys by key id.
        now: The time it will name.
        selection: Which events; all by default.
        signer: Signs the package as a whole, so that approvals too are vouched for.

    Returns:
        The manifest.

    Raises:
        ConfigurationError: There is something at the destination already.
    """
    plan = _plan(reader, selection)
    with packing(destination) as folder:
        written = _Writing(folder)
        _write_events(reader, plan, written=written)
        written.lines(contents.CHECKPOINTS, (to_json(checkpoint) for checkpoint in plan.checkpoints))
        written.lines(contents.APPROVALS, _approvals(reader, plan))
        written.whole(contents.KEYS, dumps(_keys(public_keys)))
        written.whole(contents.README, contents.GUIDE.encode())
        manifest: dict[str, Any] = {
            "format": contents.FORMAT,
            "version": contents.VERSION,
            "store": store_id,
            "made_at": now,
            "complete": selection.everything,
            "selection": selection.to_json(),
            "streams": {name: [span.first, span.last] for name, span in sorted(plan.spans.items())},
            "shown": plan.shown,
            "links": plan.links,
            "files": written.files,
        }
        text = dumps(manifest)
        (folder / contents.MANIFEST).write_bytes(text)
        if signer is not None:
            signature = signer.sign(contents.SIGNED_PREFIX + text).hex()
            (folder / contents.SIGNATURE).write_bytes(dumps({"key_id": signer.key_id, "signature": signature}))
    return manifest


@dataclass(slots=True)
class _Span:
    """The part of a stream that is packed: from its first selected event to the head that proves its last."""

    first: int
    last: int


@dataclass(slots=True)
class _Plan:
    selection: Selection
    spans: dict[str, _Span] = field(default_factory=dict[str, _Span])
    checkpoints: list[Checkpoint] = field(default_factory=list[Checkpoint])
    start: int = 0
    """The position before the first event."""
    approvals: set[str] = field(default_factory=set[str])
    shown: int = 0
    links: int = 0


class _Writing:
    """Writes the files and remembers their digests."""

    def __init__(self, folder: Path) -> None:
        self.files: dict[str, dict[str, Any]] = {}
        self._folder = folder

    def lines(self, name: str, bodies: Iterator[dict[str, Any]]) -> None:
        with self.open(name) as file:
            for body in bodies:
                file.write(dumps(body) + b"\n")
        self.note(name, file)

    def whole(self, name: str, text: bytes) -> None:
        with self.open(name) as file:
            file.write(text)
        self.note(name, file)

    def open(self, name: str) -> _Digesting:
        return _Digesting((self._folder / name).open("xb"))

    def note(self, name: str, file: _Digesting) -> None:
        self.files[name] = {"sha256": file.digest.hexdigest(), "bytes": file.count}


class _Digesting:
    """A file that is digested as it is written."""

    def __init__(self, file: BinaryIO) -> None:
        self.digest = sha256()
        self.count = 0
        self._file = file

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def write(self, data: bytes) -> None:
        self.digest.update(data)
        self.count += len(data)
        self._file.write(data)


def _plan(reader: Reader, selection: Selection) -> _Plan:
    plan = _Plan(selection)
    checkpoints = reader.checkpoints()
    if selection.everything:
        plan.spans = {name: _Span(0, head.sequence) for name, head in reader.heads().items()}
        plan.checkpoints = checkpoints
        return plan
    for page in selection.pages(reader):
        if not plan.spans:
            plan.start = page[0].position - 1
        for event in page:
            span = plan.spans.setdefault(event.stream, _Span(event.sequence, event.sequence))
            span.last = event.sequence
    plan.checkpoints = _stretch(plan.spans, checkpoints)
    return plan


def _stretch(spans: dict[str, _Span], checkpoints: list[Checkpoint]) -> list[Checkpoint]:
    """Let each span reach the first signed head at or after its end; the checkpoints that prove the spans.

    Where no head is signed that late, the last one within the span proves what lies before it.
    """
    open_spans = dict(spans)
    needed: set[int] = set()
    within: dict[str, int] = {}
    for place, checkpoint in enumerate(checkpoints):
        for name, head in stream_heads(checkpoint).items():
            span = open_spans.get(name)
            if span is not None and head.sequence >= span.last:
                open_spans.pop(name).last = head.sequence
                needed.add(place)
            elif span is not None and head.sequence >= span.first:
                within[name] = place
    needed.update(within[name] for name in open_spans if name in within)
    return [checkpoints[place] for place in sorted(needed)]


def _write_events(reader: Reader, plan: _Plan, *, written: _Writing) -> None:
    with written.open(contents.EVENTS) as events, written.open(contents.DECISIONS) as decisions:
        for event in _spanned(reader, plan):
            if not plan.selection.matches(event):
                plan.links += 1
                events.write(dumps(contents.link_line(event)) + b"\n")
                continue
            plan.shown += 1
            events.write(dumps(contents.event_line(event)) + b"\n")
            decided = contents.decision_line(event)
            if decided is not None:
                decisions.write(dumps(decided) + b"\n")
            about = contents.approval_of(event)
            if about is not None:
                plan.approvals.add(about)
    written.note(contents.EVENTS, events)
    written.note(contents.DECISIONS, decisions)


def _spanned(reader: Reader, plan: _Plan) -> Iterator[Event]:
    left = sum(span.last - span.first + 1 for span in plan.spans.values())
    for page in EVERYTHING.pages(reader, after=plan.start):
        for event in page:
            span = plan.spans.get(event.stream)
            if span is not None and span.first <= event.sequence <= span.last:
                left -= 1
                yield event
        if left <= 0:
            return


def _approvals(reader: Reader, plan: _Plan) -> Iterator[dict[str, Any]]:
    everything = plan.selection.everything
    for approval in reader.approvals():
        if everything or approval.id in plan.approvals:
            yield contents.approval_line(approval)


def _keys(public_keys: Mapping[str, bytes]) -> dict[str, Any]:
    return {
        key_id: {"public_key": key.hex(), "fingerprint": fingerprint(key)}
        for key_id, key in sorted(public_keys.items())
    }
