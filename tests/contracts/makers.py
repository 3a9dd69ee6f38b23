"""Values to store, each whole and each a little different, and a clock that is turned by hand."""

from hashlib import sha256
from typing import Any

from callgate.events.recordable import recordable_bytes
from callgate.model.approval import Approval, ApprovalState, Grant, GrantScope, Vote
from callgate.model.attempt import Attempt, AttemptKey, AttemptState
from callgate.model.canonical import dumps
from callgate.model.event import Draft
from callgate.model.layer import ConfirmBy
from callgate.model.levels import Assurance, Happened, Risk, Severity
from callgate.ports import Checkpoint, Head


class HandClock:
    """Stands still until somebody turns it, in either direction."""

    def __init__(self) -> None:
        self.time = 1_700_000_000.0

    def now(self) -> float:
        return self.time

    def monotonic(self) -> float:
        return self.time


def an_attempt(key: str = "k1", **changes: Any) -> Attempt:
    fields: dict[str, Any] = {
        "key": AttemptKey("agent", "s1", key),
        "call_id": f"call-{key}",
        "trace_id": "trace-1",
        "tool": "pay",
        "definition_hash": "d" * 64,
        "fingerprint": f"asked-{key}",
        "final_fingerprint": f"asked-{key}",
        "state": AttemptState.STARTED,
        "owner": "owner-1",
        "fence": 1,
        "started_at": 100.0,
    }
    return Attempt(**fields | changes)


def a_full_attempt() -> Attempt:
    """Every field has a value of its own."""
    return an_attempt(
        "full",
        final_fingerprint="edited-full",
        state=AttemptState.FAILED,
        happened=Happened.POSSIBLE,
        fence=7,
        tries=3,
        idempotent=True,
        has_verify=True,
        horizon=60.5,
        ended_at=101.25,
        deadline=900.0,
        outcome=recordable_bytes(
            {"status": "failed", "error": {"code": "handler_failed", "big": 2**80, "text": "naïve ☂"}}
        ),
        approval_id="approval-1",
        sealed_id="sealed-1",
        cause="network",
        resolved_by="ada",
    )


def an_approval(name: str = "a1", **changes: Any) -> Approval:
    fields: dict[str, Any] = {
        "id": name,
        "state": ApprovalState.PENDING,
        "principal": "agent",
        "session": "s1",
        "user": "ada",
        "tool": "pay",
        "definition_hash": "d" * 64,
        "call_id": f"call-{name}",
        "trace_id": "trace-1",
        "key": f"key-{name}",
        "asked_fingerprint": "asked",
        "final_fingerprint": "asked",
        "sealed_id": f"sealed-{name}",
        "what": "pay 100 to Bob",
        "why": ("large payment", "new target"),
        "origins": {"to": "untrusted output of fetch"},
        "risk": Risk.HIGH,
        "autonomy": "A2",
        "preview": {"text": "would pay", "details": [1, 2]},
        "preview_state": "etag-1",
        "resources": ("bank.example",),
        "working_directory": "/srv",
        "account": "main",
        "by": ConfirmBy.OTHER,
        "assurance": Assurance.LOCAL,
        "plus": True,
        "on_expiry": "reject",
        "created_at": 100.0,
        "expires_at": 3700.0,
        "mac": "m" * 64,
    }
    return Approval(**fields | changes)


def a_decided_approval(name: str = "a1") -> Approval:
    """Every field that deciding fills has a value."""
    return an_approval(
        name,
        state=ApprovalState.REJECTED,
        votes=(
            Vote(by="ada", assurance=Assurance.SIGNED_IN, at=120.0),
            Vote(by="bob", assurance=Assurance.LOCAL, at=121.5),
        ),
        decided_by="bob",
        decided_at=122.0,
        text="not today",
        edited=True,
        final_fingerprint="edited",
    )


def a_grant(name: str = "g1", **changes: Any) -> Grant:
    fields: dict[str, Any] = {
        "id": name,
        "tool": "pay",
        "definition_hash": "d" * 64,
        "principal": "agent",
        "pattern": {"to": "Bob", "nested": {"list": [1, None]}},
        "max_risk": Risk.MEDIUM,
        "scope": GrantScope.SESSION,
        "scope_id": "s1",
        "until": 5000.0,
        "granted_by": "ada",
        "created_at": 100.0,
    }
    return Grant(**fields | changes)


def a_draft(kind: str = "tool_call.attempted", **changes: Any) -> Draft:
    fields: dict[str, Any] = {
        "type": kind,
        "time": 100.5,
        "trace": "trace-1",
        "call": "call-1",
        "severity": Severity.WARNING,
        "payload": {"tool": "pay", "arguments": {"amount": 3}},
    }
    return Draft(**fields | changes)


def envelope_hash(envelope: dict[str, Any]) -> str:
    """What an event's hash has to be: made from its canonical envelope, apart from the code that records."""
    return sha256(dumps(envelope)).hexdigest()


def a_checkpoint(name: str = "c1", **changes: Any) -> Checkpoint:
    fields: dict[str, Any] = {
        "id": name,
        "time": 200.0,
        "stream": "stream-1",
        "heads": {"stream-1": Head(4, "a" * 64), "stream-2": Head(0, "b" * 64)},
        "key_id": "key-1",
        "signature": b"\x00\xffsigned",
    }
    return Checkpoint(**fields | changes)
