"""What a package of evidence holds, and in which form. Shared by who packs and who checks; reads and writes nothing."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from callgate.events.vocabulary import ATTEMPTED, GATE_DENIED, GATE_PREVIEWED, GATE_REQUIRED, REFUSED
from callgate.model.approval import Approval
from callgate.model.event import Event

FORMAT = "callgate-evidence"
VERSION = 1

MANIFEST = "manifest.json"
SIGNATURE = "manifest.sig"
EVENTS = "events.jsonl"
CHECKPOINTS = "checkpoints.jsonl"
APPROVALS = "approvals.jsonl"
DECISIONS = "decisions.jsonl"
KEYS = "keys.json"
README = "README.txt"

LISTED = (APPROVALS, CHECKPOINTS, DECISIONS, EVENTS, KEYS, README)
"""The files whose digests are in the manifest."""
KNOWN = frozenset({MANIFEST, SIGNATURE, *LISTED})

SIGNED_PREFIX = b"callgate evidence 1\n"
"""What the manifest's bytes are preceded by where they are signed."""

_DECIDED = frozenset({ATTEMPTED, REFUSED, GATE_DENIED, GATE_PREVIEWED, GATE_REQUIRED})

GUIDE = """\
This is evidence from a Callgate audit log. `callgate evidence verify` checks it without the store or its keys.

By hand, with any language that has JSON, SHA-256 and Ed25519:

1. manifest.json has the SHA-256 of every other file but manifest.sig. That one, if there, has an Ed25519 signature
   (hex) over the bytes "callgate evidence 1\\n" followed by those of manifest.json.
2. events.jsonl has one event per line, in canonical JSON: UTF-8, keys sorted by code point, no spaces, letters as
   themselves. Numbers stay as they are written in the line. An event's hash is the SHA-256 of the canonical JSON of
   everything in it but hash, payload and salt. Its payload_digest is the SHA-256 of the salt's bytes (the salt is given
   in hex) followed by the payload's canonical JSON. previous is the hash of the event before it in its stream, and 64
   zeros in the first one.
3. A line without payload and salt is a link: an event that is not part of this evidence, given without its content
   because the chain runs through it. A line whose payload is null was erased from the store.
4. checkpoints.jsonl has signed heads: stream to [sequence, hash]. The signature is Ed25519 over the bytes
   "callgate checkpoint 1\\n" followed by the canonical JSON of everything in the line but signature. An event is proven
   if the chain leads from it to a head that is signed.
5. keys.json has the public keys (hex). A key proves something only if you know from elsewhere whose it is: compare its
   fingerprint, the first 32 hex digits of its SHA-256, with the one its owner has published.
"""


def event_line(event: Event) -> dict[str, Any]:
    """An event that is part of the evidence."""
    return event.to_json()


def link_line(event: Event) -> dict[str, Any]:
    """An event the chain runs through, without its content."""
    return event.envelope() | {"hash": event.hash}


def approval_line(approval: Approval) -> dict[str, Any]:
    """An approval without what is sealed, and without the seal, which only the gate can check."""
    return _approval_body(approval) | _plan_body(approval)


def _plan_body(approval: Approval) -> dict[str, Any]:
    """The plan it was decided with, if any; the first of a plan has the whole list that a person was shown."""
    if approval.part is None:
        return {}
    body: dict[str, Any] = {"plan": asdict(approval.part)}
    return body | ({"calls": [asdict(call) for call in approval.calls]} if approval.calls else {})


def _approval_body(approval: Approval) -> dict[str, Any]:
    return {
        "id": approval.id,
        "state": approval.state.value,
        "principal": approval.principal,
        "session": approval.session,
        "user": approval.user,
        "tool": approval.tool,
        "definition_hash": approval.definition_hash,
        "call_id": approval.call_id,
        "trace_id": approval.trace_id,
        "key": approval.key,
        "asked_fingerprint": approval.asked_fingerprint,
        "final_fingerprint": approval.final_fingerprint,
        "what": approval.what,
        "why": list(approval.why),
        "origins": approval.origins,
        "risk": approval.risk.label,
        "autonomy": approval.autonomy,
        "resources": list(approval.resources),
        "working_directory": approval.working_directory,
        "account": approval.account,
        "by": approval.by.value,
        "assurance": approval.assurance.label,
        "plus": approval.plus,
        "edited": approval.edited,
        "created_at": approval.created_at,
        "expires_at": approval.expires_at,
        "votes": [{"by": vote.by, "assurance": vote.assurance.label, "at": vote.at} for vote in approval.votes],
        "decided_by": approval.decided_by,
        "decided_at": approval.decided_at,
        "text": approval.text,
    }


def decision_line(event: Event) -> dict[str, Any] | None:
    """What was decided about a call, where the event says it; drawn from the event alone, so anyone can redo it."""
    payload: Any = event.payload
    if event.type not in _DECIDED or not isinstance(payload, dict):
        return None
    body: dict[str, Any] = {"event": event.id, "type": event.type, "time": event.time, "call": event.call}
    for name in ("tool", "principal", "session", "role", "decision", "code", "message", "reasons", "approval_id"):
        if name in payload:
            body[name] = payload[name]
    return body


def approval_of(event: Event) -> str | None:
    """The approval an event is about, if any."""
    payload: Any = event.payload
    named = payload.get("approval_id") if isinstance(payload, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    return named if isinstance(named, str) else None
