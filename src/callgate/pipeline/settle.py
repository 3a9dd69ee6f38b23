"""Step 8, settle: redact, label, record, tell. Every attempted call has exactly one closing event, cancelled or not."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import orjson

from callgate.errors import StoreError, StoreUnavailable
from callgate.events.vocabulary import KINDS, SETTLED_LATE, SUCCEEDED
from callgate.ledger.transitions import Answer, Settle, move
from callgate.model.attempt import AttemptState
from callgate.model.event import Draft
from callgate.model.levels import Category, Happened, Severity
from callgate.model.outcome import ErrorInfo, Failed, Outcome, Succeeded, Unknown
from callgate.pipeline.arrived import unless_arrived
from callgate.pipeline.ending import Ending, ending_of
from callgate.pipeline.execute import FenceLost, when_ended_late
from callgate.pipeline.health_events import note_health
from callgate.pipeline.reading_notes import note_later
from callgate.pipeline.recorded import MOST_BYTES, json_form, redacted_view
from callgate.pipeline.row_change import with_more, write_row
from callgate.pipeline.shield import landed
from callgate.pipeline.stored_outcome import stored

if TYPE_CHECKING:
    from collections.abc import Callable

    from callgate.pipeline.executed import Executed
    from callgate.pipeline.parts import Parts
    from callgate.ports import Transaction

_STATES: dict[type[Outcome], AttemptState] = {
    Succeeded: AttemptState.SUCCEEDED,
    Failed: AttemptState.FAILED,
    Unknown: AttemptState.UNKNOWN,
}

_DEBUG = Severity.DEBUG  # looking a member up takes as long as many a step
_STALE: dict[str, Any] = {"type": SETTLED_LATE, "severity": KINDS[SETTLED_LATE].severity}
"""What is told of an end that no longer changed the row."""
_APPLIED = Answer.APPLIED
_LOST = Answer.STALE


async def settle(parts: Parts, executed: Executed) -> Outcome:
    """Close the call and say how it ended."""
    ending, permit = ending_of(parts, executed), executed.permit
    if permit.edited:
        ending.outcome = _tell_edit(parts, executed, ending.outcome)
    note_health(parts, executed, ending.outcome)
    try:
        if permit.durable:
            outcome = await _close_durably(parts, executed, ending)
        else:
            outcome = _close_behind(parts, executed, ending)
    finally:
        # Also when the caller lets go meanwhile: the thread's place and its late result depend on it.
        if executed.still_running is not None:
            _await_late(parts, executed)
    if isinstance(outcome, Succeeded):
        parts.labels.returned(permit.tool, outcome.value, permit.asked.context)
    return outcome


def _close_behind(parts: Parts, executed: Executed, ending: Ending) -> Outcome:
    try:
        parts.store.behind(_closing(parts, executed, ending))
    except StoreUnavailable as error:
        return _unrecorded(executed, ending, error)
    if executed.permit.tool.hooks.reads is not None:
        _watch_later(parts, executed, ending)
    return ending.told or ending.outcome


async def _close_durably(parts: Parts, executed: Executed, ending: Ending) -> Outcome:
    draft = _closing(parts, executed, ending)
    fact = _fact(parts, executed, ending) if executed.permit.row is not None else None
    unit = _unit(parts, executed, draft, fact)
    let_go = False
    try:
        work = parts.store.submit(unit)
        let_go = await landed(work)
        answer = work.result()
    except StoreError as error:
        parts.spool.keep(unless_arrived(parts, draft, unit))
        outcome = _unrecorded(executed, ending, error)
    else:
        outcome = _closed(parts, executed, ending, answer)
    if let_go:  # pragma: no cover - see `landed`
        raise asyncio.CancelledError
    return outcome


def _closed(parts: Parts, executed: Executed, ending: Ending, answer: Answer) -> Outcome:
    if answer is _LOST and not isinstance(executed.error, FenceLost):
        return _no_longer_ours(executed, ending)
    if executed.permit.tool.hooks.reads is not None:
        _watch_later(parts, executed, ending)
    return ending.told or ending.outcome


def _unit(parts: Parts, executed: Executed, draft: Draft, fact: Settle | None) -> Callable[[Transaction], Answer]:
    permit, said = executed.permit, draft.payload

    def unit(tx: Transaction) -> Answer:
        if fact is None or permit.row is None:
            tx.append(draft)
            return _APPLIED
        step = move(tx.attempt(permit.row.key), fact)
        draft.payload = said  # it may be tried again
        if not step.changed or step.row is None:
            tx.append(replace(draft, **_STALE))
            return step.answer
        write_row(parts, tx, step.row, draft, step.answer)
        return step.answer

    return unit


def _fact(parts: Parts, executed: Executed, ending: Ending) -> Settle:
    outcome, row = ending.outcome, executed.permit.row
    assert row is not None  # noqa: S101 - asked by the caller
    return Settle(
        call_id=row.call_id,
        owner=row.owner,
        fence=row.fence,
        state=_STATES[type(outcome)],
        now=parts.clock.now(),
        happened=None if ending.event is SUCCEEDED else _left(executed, outcome),
        outcome=stored(outcome, ending.written),
        cause=ending.cause,
        ended=executed.still_running is None,
    )


def _left(executed: Executed, outcome: Outcome) -> Happened | None:
    if isinstance(outcome, Failed):
        return outcome.happened
    # A read is unknown only where something inside of it may have taken effect, and then it is no mere read.
    return Happened.POSSIBLE if isinstance(outcome, Unknown) and executed.permit.tool.read_only else None


def _closing(parts: Parts, executed: Executed, ending: Ending) -> Draft:
    """The one event that closes the call."""
    outcome, asked, tool, output = ending.outcome, executed.permit.asked, executed.permit.tool, ending.written
    usual = executed.tries == 1 and tool.hooks.redact is None and len(output) <= MOST_BYTES
    if not usual or not isinstance(outcome, Succeeded):
        return _closing_told(parts, executed, ending)
    own, shared = b'{"duration_ms":' + orjson.dumps(outcome.duration_ms) + b',"output":' + output, tool.written
    return Draft(
        type=SUCCEEDED,
        time=parts.clock.now(),
        trace=asked.context.trace_id,
        call=asked.call_id,
        severity=_DEBUG,
        payload=(own + shared, own, shared),
    )


def _closing_told(parts: Parts, executed: Executed, ending: Ending) -> Draft:
    """The same, its payload as a value: of anything but a plain success."""
    permit, outcome = executed.permit, ending.outcome
    payload: dict[str, Any] = {"tool": permit.tool.name, "tool_id": permit.tool.id, "duration_ms": outcome.duration_ms}
    if executed.tries > 1:
        payload["tries"] = executed.tries
    if isinstance(outcome, Succeeded):
        payload["output"] = redacted_view(permit.tool, outcome.value, ending.written)
        return _draft(parts, executed, ending.event, payload, Severity.DEBUG)
    assert outcome.error is not None  # noqa: S101 - whatever is no success says why
    payload["error"] = outcome.error.to_json()
    if ending.known is not None:
        payload |= ending.known
    if ending.audit_text is not None:
        payload["exception"] = ending.audit_text
    if isinstance(outcome, Failed):
        payload["effect"] = outcome.happened.value
    if ending.cause is not None:
        payload["cause"] = ending.cause
    return _draft(parts, executed, ending.event, payload, Severity.WARNING)


def _draft(parts: Parts, executed: Executed, event: str, payload: dict[str, Any], severity: Severity) -> Draft:
    return Draft(
        type=event,
        time=parts.clock.now(),
        trace=executed.permit.context.trace_id,
        call=executed.permit.asked.call_id,
        severity=severity,
        payload=payload,
    )


def _unrecorded(executed: Executed, ending: Ending, error: Exception) -> Outcome:
    """What happened could not be written down: never a failure, never a loss."""
    outcome = ending.outcome
    if isinstance(outcome, Failed):
        return outcome
    text = f"{executed.permit.tool.name} ended, but its record could not be written ({error})"
    info = ErrorInfo(
        code="outcome_unknown",
        message=text,
        category=Category.RESOURCE,
        tool=executed.permit.tool.name,
        suggestion="Do not repeat it; the record is written as soon as the store takes it.",
    )
    return _as_unknown(outcome, info)


def _no_longer_ours(executed: Executed, ending: Ending) -> Outcome:
    text = f"{executed.permit.tool.name} ended after its row was given up; what it returned is recorded as a late fact"
    info = ErrorInfo(code="outcome_unknown", message=text, tool=executed.permit.tool.name)
    return _as_unknown(ending.outcome, info)


def _as_unknown(outcome: Outcome, info: ErrorInfo) -> Unknown:
    return Unknown(
        tool=outcome.tool,
        call_id=outcome.call_id,
        trace_id=outcome.trace_id,
        key=outcome.key,
        decision=outcome.decision,
        duration_ms=outcome.duration_ms,
        side_effects=outcome.side_effects,
        error=info,
        value=outcome.output,
        cause=outcome.cause,
    )


def _tell_edit(parts: Parts, executed: Executed, outcome: Outcome) -> Outcome:
    """The model is told what a person changed."""
    edited = {"edited": True, "arguments": json_form(parts.striker.strike(executed.permit.arguments))}
    return replace(outcome, metadata=outcome.metadata | edited)


def _watch_later(parts: Parts, executed: Executed, ending: Ending) -> None:
    """A tool that declares what it read: asked and noted after the call, which does not wait for it."""
    if parts.watches and isinstance(ending.outcome, Succeeded):
        note_later(parts, executed.permit, ending.outcome)


def _await_late(parts: Parts, executed: Executed) -> None:
    """A handler that outlived its limit: when it ends, that is a fact of its own."""
    parts.late.add(executed)

    def ended(late: Executed) -> None:
        if executed.permit.lane is not None:
            executed.permit.lane.give()
        parts.background(_settle_late(parts, late))
        parts.late.discard(executed)

    when_ended_late(parts, executed, ended)


async def _settle_late(parts: Parts, late: Executed) -> None:
    ending = ending_of(parts, late)
    draft = _closing_told(parts, late, ending)
    draft.type, draft.severity = SETTLED_LATE, KINDS[SETTLED_LATE].severity
    fact = _fact(parts, late, ending) if late.permit.row is not None else None
    if fact is None:  # no row will say that it changed
        draft.payload = with_more(draft.payload, {"state": ending.outcome.status})
    await parts.spool.write(unless_arrived(parts, draft, _unit(parts, late, draft, fact)))
