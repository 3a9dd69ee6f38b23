"""Checking evidence: is what a package says what was recorded? Needs no store and no secret; trusts nothing in it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from callgate.events.agreement import Agreement, Question
from callgate.events.checkpoint import from_json
from callgate.events.evidence import contents
from callgate.events.evidence.manifest import Manifest, read_manifest
from callgate.events.evidence.package import BadPackage, Package, bodies, open_package
from callgate.events.links import Links
from callgate.events.report import Findings, Report, moment
from callgate.events.signature import fingerprint
from callgate.events.vocabulary import CHECKPOINT
from callgate.events.witness import Witnesses
from callgate.model.event import Event
from callgate.model.event import from_json as event_from_json
from callgate.model.shapes import as_mapping, as_sequence
from callgate.ports import Checkpoint

MOST_BYTES = 16 * 1024**3
_PAGE = 1000


def verify_evidence(
    path: Path,
    *,
    public_keys: Mapping[str, bytes] | None = None,
    signed: bool = False,
    known: Collection[str] = (),
    most_bytes: int = MOST_BYTES,
) -> Report:
    """Check a package of evidence. Never raises for what is in it.

    Args:
        path: A zip, a tar or a folder.
        public_keys: Raw Ed25519 keys by key id that the reader trusts; None believes the ones in the package, and
            says so.
        signed: Refuse a package that is not signed itself; else that is a note.
        known: Fingerprints that the reader knows; of keys in the package that are all among them, nothing is said.
        most_bytes: Refuse packages that claim to be larger when unpacked.
    """
    try:
        package = open_package(path, most_bytes=most_bytes)
    except BadPackage as error:
        return _refused(error)
    try:
        return _Checking(package, read_manifest(package, trusted=public_keys, signed=signed, known=known)).report()
    except BadPackage as error:
        return _refused(error)
    finally:
        package.close()


def _refused(error: BadPackage) -> Report:
    return Report(ok=False, events=0, problems=(f"refused: {error}",))


class _Checking:
    """One check on its way through a package."""

    def __init__(self, package: Package, manifest: Manifest) -> None:
        self._package = package
        self._manifest = manifest
        self._findings = Findings()
        self._witnesses = Witnesses(self._findings)
        self._agreement = Agreement(self._findings)
        self._shown = 0
        self._linked = 0
        self._erased = 0
        self._unsigned = 0

    def report(self) -> Report:
        """Look at everything and say what was found."""
        findings, manifest = self._findings, self._manifest
        for sentence in manifest.notes:
            findings.note(sentence)
        self._hear_checkpoints()
        links = Links(findings, marks=self._witnesses.marks, partial=not manifest.complete)
        decisions = bodies(self._package, contents.DECISIONS)
        signed = self._signed()
        for page in _pages(self._events()):
            links.follow(page)
            self._take(page, signed=signed, decisions=decisions)
        if next(decisions, None) is not None:
            findings.wrong("decisions.jsonl has decisions that no event in it made")
        links.finish()
        self._compare(links)
        self._conclude()
        return Report(
            ok=findings.ok,
            events=links.events,
            streams={name: stream.count for name, stream in links.streams.items()},
            broken_at=findings.broken_at,
            problems=findings.problems,
            notes=findings.notes,
            signed_until=self._witnesses.signed_until,
            unsigned=self._unsigned,
            keys=tuple(sorted(fingerprint(key) for key in manifest.public_keys.values())),
        )

    def _hear_checkpoints(self) -> None:
        keys = self._manifest.public_keys
        found = [_checkpoint(body) for body in bodies(self._package, contents.CHECKPOINTS)]
        if self._manifest.complete:
            self._witnesses.hear_checkpoints(found, public_keys=keys)
            return
        for checkpoint in found:
            self._witnesses.hear_one(checkpoint, public_keys=keys)

    def _signed(self) -> dict[str, int]:
        """The last event of every stream here that leads to a signed head here."""
        signed: dict[str, int] = {}
        for name, (_, last) in self._manifest.streams.items():
            heads = [sequence for sequence in self._witnesses.marks.get(name, ()) if sequence <= last]
            signed[name] = max(heads, default=-1)
        return signed

    def _events(self) -> Iterator[Event]:
        for number, body in enumerate(bodies(self._package, contents.EVENTS), start=1):
            yield self._event(body, f"line {number} of {contents.EVENTS}")

    def _event(self, body: dict[str, Any], what: str) -> Event:
        shown = "payload" in body
        if not shown:
            body = body | {"payload": None, "salt": None}
        if not _is_event(body):
            raise BadPackage(f"{what} is not an event")
        event = event_from_json(body)
        self._shown += shown
        self._linked += not shown
        self._erased += shown and event.payload is None
        return event

    def _take(self, page: list[Event], *, signed: Mapping[str, int], decisions: Iterator[dict[str, Any]]) -> None:
        complete = self._manifest.complete
        if complete:
            self._agreement.note(page)
        for event in page:
            if event.sequence > signed.get(event.stream, -1) and event.type != CHECKPOINT:
                self._unsigned += 1
            decided = contents.decision_line(event)
            if decided is not None and next(decisions, None) != decided:
                self._findings.wrong(f"decisions.jsonl does not say what event {event.id} says was decided")

    def _compare(self, links: Links) -> None:
        found = {name: (stream.first, stream.next - 1) for name, stream in links.streams.items()}
        if found != self._manifest.streams:
            self._findings.wrong("the events are not those the manifest tells of")
        if (self._shown, self._linked) != (self._manifest.shown, self._manifest.links):
            self._findings.wrong("the manifest counts other events than there are")
        questions = [_question(body) for body in bodies(self._package, contents.APPROVALS)]
        if self._manifest.complete:
            self._witnesses.look_for_cuts(links.streams)
            self._agreement.compare_approvals(questions)

    def _conclude(self) -> None:
        findings, manifest = self._findings, self._manifest
        if self._linked:
            findings.note(
                f"{self._shown} events are shown; {self._linked} more are given without their content, as links to "
                "signed heads, and what they were about is not in this evidence"
            )
        if not manifest.complete:
            findings.note("this is a part of the record: that nothing else belongs to it is not proven")
        if self._erased and not manifest.complete:
            findings.note(
                f"the content of {self._erased} events was erased; who did it and why is not in this evidence"
            )
        if self._unsigned:
            findings.note(f"{self._unsigned} events are newer than the last signed head here: nobody vouches for them")
        until = self._witnesses.signed_until
        if manifest.complete and until is not None:
            findings.note(f"what was recorded after the last checkpoint, {moment(until)}, may be missing")


def _pages(events: Iterator[Event]) -> Iterator[list[Event]]:
    page: list[Event] = []
    for event in events:
        page.append(event)
        if len(page) == _PAGE:
            yield page
            page = []
    if page:
        yield page


def _checkpoint(body: dict[str, Any]) -> Checkpoint:
    try:
        return from_json(body)
    except ValueError as error:
        raise BadPackage(f"{contents.CHECKPOINTS}: {error}") from error


def _question(body: dict[str, Any]) -> Question:
    found = [body.get(name) for name in ("id", "state", "call_id", "tool")]
    match found:
        case [str(approval_id), str(state), str(call_id), str(tool)]:
            return Question(approval_id, state, call_id, tool, _said(body))
        case _:
            raise BadPackage(f"{contents.APPROVALS} has a line that is not an approval")


def _said(body: dict[str, Any]) -> dict[str, Any]:
    """What the line says, by the names that events use for it."""
    said = {name: body[name] for name in ("principal", "session", "key", "what") if name in body}
    if "decided_by" in body:
        said["by"] = body["decided_by"]
    votes = as_sequence(body.get("votes"))
    if votes is not None:
        said["votes"] = [(as_mapping(vote) or {}).get("by") for vote in votes]
    return said


_TEXTS = ("id", "stream", "type", "trace", "producer", "severity", "payload_digest", "previous", "hash")


def _is_event(body: dict[str, Any]) -> bool:
    """Whether the fields are of their kinds: a hostile line must not become a hostile object."""
    return (
        body.keys() == {*_TEXTS, "sequence", "time", "call", "causes", "payload", "salt"}
        and all(isinstance(body[name], str) for name in _TEXTS)
        and type(body["sequence"]) is int
        and body["sequence"] >= 0
        and type(body["time"]) in {int, float}
        and isinstance(body["call"], str | None)
        and isinstance(body["salt"], str | None)
        and isinstance(body["payload"], dict | None)
        and isinstance(body["causes"], list)
        and all(isinstance(cause, str) for cause in body["causes"])  # pyright: ignore[reportUnknownVariableType]
    )
