"""Every type of event that Callgate records, with how loud it is and what it means. Knows no other vocabulary."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from callgate.model.approval import ApprovalState
from callgate.model.levels import Severity


class Kind(NamedTuple):
    """What is known about one type of event."""

    name: str
    severity: Severity
    meaning: str


_kinds: dict[str, Kind] = {}

KINDS: Mapping[str, Kind] = MappingProxyType(_kinds)
"""Every type that Callgate records, by name."""


def _debug(name: str, meaning: str) -> str:
    return _kind(Kind(name, Severity.DEBUG, meaning))


def _info(name: str, meaning: str) -> str:
    return _kind(Kind(name, Severity.INFO, meaning))


def _warning(name: str, meaning: str) -> str:
    return _kind(Kind(name, Severity.WARNING, meaning))


def _kind(kind: Kind) -> str:
    _kinds[kind.name] = kind
    return kind.name


ATTEMPTED = _info("tool_call.attempted", "The call passed the gate and its handler is about to be entered.")
SUCCEEDED = _debug("tool_call.succeeded", "The handler ended well.")
FAILED = _warning("tool_call.failed", "The handler failed; `effect` says what it may have left behind.")
TIMED_OUT = _warning("tool_call.timed_out", "A read-only call reached its time limit.")
UNKNOWN = _warning("tool_call.unknown", "Whether the effect happened cannot be known; `cause` says why.")
REFUSED = _info("tool_call.refused", "The call was refused before anything happened.")
DEDUPED = _info("tool_call.deduped", "The call was answered with the recorded outcome of its key.")
SETTLED_LATE = _warning("tool_call.settled_late", "The handler of a call given up as unknown ended after all.")
RESOLVED = _info("tool_call.resolved", "Somebody found out whether an unknown call happened.")
PROGRESS = _debug("tool_call.progress", "A running handler said how far it is.")

GATE_PREVIEWED = _info("gate.previewed", "The call was shown and not run.")
GATE_REQUIRED = _info("gate.required", "A person has to decide; the approval was made.")
GATE_DENIED = _info("gate.denied", "Risk and autonomy together refused the call.")

APPROVED = _info("approval.approved", "A person said yes.")
REJECTED = _info("approval.rejected", "A person said no.")
ANSWERED = _info("approval.answered", "A person answered the model instead of letting the call run.")
EXPIRED = _info("approval.expired", "Nobody decided in time.")
EDITED = _info("approval.edited", "A person changed the arguments; earlier votes are void.")
WITHDRAWN = _info(
    "approval.withdrawn", "The question was taken back, by its asker or by the gate; `text` says why the gate did."
)
USED = _info("approval.used", "The one execution it admits was claimed.")
GOES_ON = _info("approval.goes_on", "What it admitted stopped at a call inside, `original_call`, and goes on.")
VOTED = _info("approval.voted", "One of several persons said yes.")

GRANT_CREATED = _info("grant.created", "A standing answer was given.")
GRANT_REVOKED = _info("grant.revoked", "A standing answer was taken back.")

CHAIN_STARTED = _info("chain.started", "The calls of a chain are about to be made, in these waves.")
CHAIN_ENDED = _info("chain.ended", "A chain was made, or stopped; `status` says how, `waiting` has what was not made.")
CHAIN_REFUSED = _info("chain.refused", "A chain was refused as a whole, before anything of it ran.")

TOOL_REGISTERED = _info("tool.registered", "A tool was added.")
TOOL_CHANGED = _info("tool.changed", "A tool's definition changed.")
TOOL_REMOVED = _info("tool.removed", "A tool was taken away.")
TOOL_QUARANTINED = _warning("tool.quarantined", "A changed or new tool waits until somebody has looked at it.")
TOOL_TRUSTED = _info("tool.trusted", "A person looked at a held tool and trusts exactly this definition of it.")

HEALTH_CHANGED = _warning("health.changed", "A connector became healthy, degraded or unavailable.")
SOURCE_STALE = _warning("source.stale", "A source changed since it was last read.")

SOURCE_LOADED = _info("source.loaded", "A source of tools was attached, or loaded again.")
SOURCE_FAILED = _warning("source.failed", "A source of tools, or a tool of it, could not be loaded.")
SOURCE_LOST = _warning("source.lost", "What is behind a source cannot be reached; its tools are unavailable.")
SOURCE_BACK = _info("source.back", "What is behind a source can be reached again.")
SOURCE_DETACHED = _info("source.detached", "A source of tools was let go; its tools are gone.")
SOURCE_SAID = _debug("source.said", "What a server wrote into its own log.")

PROGRAM_STARTED = _info("program.started", "A program began to run.")
PROGRAM_SLEPT = _info("program.slept", "A program waits for a person, in the store.")
PROGRAM_WOKE = _info("program.woke", "A program went on.")
PROGRAM_PROPOSED = _info("program.proposed", "A dry run ended; the list of its effects can be looked at.")
PROGRAM_FINISHED = _info("program.finished", "A program came to its end.")
PROGRAM_FAILED = _warning("program.failed", "A program raised, was none, or reached a limit.")
PROGRAM_INTERRUPTED = _warning("program.interrupted", "A program stopped on the way and can go on.")

SELF_NOTIFY = _info("agent.self.notify", "An agent left a notice for itself; how loud it is, its priority says.")
SELF_REMIND = _info("agent.self.remind", "An agent left a reminder for itself; how loud it is, its priority says.")

CREDENTIAL_ISSUED = _info("credential.issued", "Somebody was let in: an agent that may call, or a person.")
CREDENTIAL_REVOKED = _info("credential.revoked", "A credential opens nothing any more.")
PERSON_SIGNED_IN = _info("person.signed_in", "A person came in at the console; `how` says with what.")
PERSON_SIGNED_OUT = _debug("person.signed_out", "A person left the console.")
ENTRY_REFUSED = _warning("entry.refused", "Somebody tried to come in and was not let in; `reason` says why.")

NOTIFICATION_FAILED = _warning("notification.failed", "Nobody could be told that a person has to decide.")

STREAM_OPENED = _info("stream.opened", "A process began to record, citing the store and the heads it found.")
STREAM_CLOSED = _info("stream.closed", "A process stopped recording, as it should.")
CHECKPOINT = _debug("audit.checkpoint", "All heads were signed.")
ERASED = _warning("audit.erased", "Payloads of the named events were erased; their place in the chain stays.")
RESTORED = _warning("audit.restored", "A person accepted that a copy of the store is the store from here on.")

APPROVAL_EVENTS: Mapping[ApprovalState, str] = MappingProxyType(
    {
        ApprovalState.PENDING: VOTED,
        ApprovalState.APPROVED: APPROVED,
        ApprovalState.REJECTED: REJECTED,
        ApprovalState.ANSWERED: ANSWERED,
        ApprovalState.EXPIRED: EXPIRED,
        ApprovalState.WITHDRAWN: WITHDRAWN,
        ApprovalState.USED: USED,
    }
)
"""What is recorded when a question came to stand so."""

APPROVAL_STATES: Mapping[str, str] = MappingProxyType(
    {GATE_REQUIRED: ApprovalState.PENDING.value, **{kind: state.value for state, kind in APPROVAL_EVENTS.items()}}
)
"""How a question stands after each event about it, where that does not say it itself, as EDITED does."""

CLOSING = frozenset({SUCCEEDED, FAILED, TIMED_OUT, UNKNOWN})
"""Exactly one of these follows every attempt."""

KEPT = frozenset({STREAM_OPENED, STREAM_CLOSED, CHECKPOINT, ERASED, RESTORED})
"""Never erased: the proof of everything else rests on their payloads, which hold nothing of anyone's."""
