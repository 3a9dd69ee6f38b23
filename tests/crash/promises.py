"""What the gate promised, held against what really happened: the effects, what callers were told, and the record."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Any

from callgate import Callgate, Failed, Outcome, Refused, Succeeded, Unknown
from callgate.model.approval import ApprovalState
from tests.crash.journal import Record, Told
from tests.crash.worker import AGAIN
from tests.crash.workload import HARMLESS, RAISING, REPEATABLE, key_of, tool_of

CLOSING = frozenset({"tool_call.succeeded", "tool_call.failed", "tool_call.timed_out", "tool_call.unknown"})


@dataclass(kw_only=True)
class Evidence:
    """Everything known about a store after the fact."""

    record: Record
    effects: dict[int, list[str]]
    finals: dict[int, Outcome | None] = field(default_factory=dict[int, "Outcome | None"])
    """What the ledger says of every number that was ever asked."""
    events: dict[str, list[Any]] = field(default_factory=lambda: defaultdict[str, list[Any]](list))
    """Events by call."""
    unrecorded: bool = False
    """Some endings could not be written before their process died: a failure that was told may read unknown then."""


async def gather(gate: Callgate, record: Record, effects: dict[int, list[str]]) -> Evidence:
    """Ask the gate for its side of the story."""
    evidence = Evidence(record=record, effects=effects)
    for number in record.asked | effects.keys():
        evidence.finals[number] = await gate.outcome(key_of(number))
    async for event in gate.events():
        if event.call is not None:
            evidence.events[event.call].append(event)
    return evidence


def broken_promises(evidence: Evidence) -> list[str]:
    """Every promise that does not hold, in words."""
    return [
        *_effects_happen_once(evidence),
        *_effects_are_never_denied(evidence),
        *_what_was_told_still_holds(evidence),
        *_nobody_repeats_an_unknown(evidence),
        *_attempts_are_closed_once(evidence),
        *_approvals_are_used_once(evidence),
    ]


def _name(number: int) -> str:
    return f"{tool_of(number)} {number}"


def _effects_happen_once(evidence: Evidence) -> list[str]:
    return [
        f"{_name(number)} took effect {len(tokens)} times"
        for number, tokens in evidence.effects.items()
        if (len(tokens) > 1 and tool_of(number) not in REPEATABLE) or tool_of(number) in HARMLESS
    ]


def _effects_are_never_denied(evidence: Evidence) -> list[str]:
    """An effect reads succeeded or unknown, or as a failure that left something; and a success has its effect."""
    wrong: list[str] = []
    for number, final in evidence.finals.items():
        tokens = evidence.effects.get(number, [])
        if isinstance(final, Refused):
            wrong.append(f"{_name(number)} still runs, and nobody is left who could run it")
        if tokens and not _admits(number, final):
            wrong.append(f"{_name(number)} took effect and reads {_shown(final)}")
        if isinstance(final, Succeeded) and not _is_output_of(number, final.output, tokens):
            wrong.append(f"{_name(number)} reads succeeded with {final.output}, and its effects are {tokens}")
    return wrong


def _admits(number: int, final: Outcome | None) -> bool:
    if isinstance(final, Failed):
        return tool_of(number) in RAISING and final.happened.value == "possible"
    return isinstance(final, Succeeded | Unknown)


def _is_output_of(number: int, output: Any, tokens: list[str]) -> bool:
    if tool_of(number) in REPEATABLE:
        return bool(tokens) and output == {"put": str(number)}
    return [output["token"]] == tokens


def _what_was_told_still_holds(evidence: Evidence) -> list[str]:
    return [
        f"{_name(told.number)} was told {told.status} {told.happened or ''} {told.output}, and reads {_shown(final)}"
        for told in evidence.record.told
        for final in [evidence.finals[told.number]]
        if not told.key.startswith(AGAIN) and not _agrees(told, final)
        if not (evidence.unrecorded and told.status == "failed" and isinstance(final, Unknown))
    ]


def _agrees(told: Told, final: Outcome | None) -> bool:
    if told.status == "succeeded":
        return isinstance(final, Succeeded) and final.output == told.output
    if told.status == "failed" and told.happened != "none":
        return isinstance(final, Failed) and final.happened.value == told.happened
    if told.status == "unknown":
        return isinstance(final, Unknown | Succeeded)
    # Refused, pending, and failed without effect: nothing had happened then, and anything may have since.
    return True


def _nobody_repeats_an_unknown(evidence: Evidence) -> list[str]:
    return [
        f"{_name(told.number)} under a new key was told {told.status} {told.code} while the first outcome is unknown"
        for told in evidence.record.told
        if told.key.startswith(AGAIN) and told.code not in {"outcome_unknown", "tool_unavailable"}
    ]


def _attempts_are_closed_once(evidence: Evidence) -> list[str]:
    wrong: list[str] = []
    for call, events in evidence.events.items():
        types = Counter(event.type for event in events)
        closings = sum(types[kind] for kind in CLOSING)
        if (types["tool_call.attempted"], closings) not in {(0, 0), (1, 1)}:
            wrong.append(f"call {call} has the events {dict(types)}")
    return wrong


def _approvals_are_used_once(evidence: Evidence) -> list[str]:
    events = [event for events in evidence.events.values() for event in events]
    used = Counter(event.payload["approval_id"] for event in events if event.type == "approval.used")
    attempted = [
        event.payload
        for event in events
        if event.type == "tool_call.attempted" and event.payload["tool"] == "pay_asked"
    ]
    ran = Counter(payload.get("approval_id") for payload in attempted)
    return [
        *(f"approval {approval} was used {count} times" for approval, count in used.items() if count > 1),
        *(f"approval {approval} let {count} calls run" for approval, count in ran.items() if count != used[approval]),
    ]


async def approval_states(gate: Callgate) -> Counter[ApprovalState]:
    """How many questions stand where."""
    return Counter(approval.state for approval in await gate.approvals(states=None))


async def given_up(gate: Callgate) -> tuple[set[str], set[str]]:
    """Calls whose process died: by the ledger, and by the events."""
    rows = {row.call_id for row in await gate.unknown_outcomes() if row.cause == "owner_died"}
    told = {
        event.call or ""
        async for event in gate.events(types=["tool_call.unknown"])
        if event.payload is not None and event.payload.get("cause") == "owner_died"
    }
    return rows, told


def _shown(final: Outcome | None) -> str:
    return "absent" if final is None else f"{final.status} {getattr(final, 'happened', '')} {final.output}"
