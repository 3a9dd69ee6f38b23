"""What an ended handler means: which outcome, and what may have been left behind. Records nothing.

What was returned is unwrapped and struck here, and the author's own check of it is asked.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from callgate.errors import (
    ApprovalRequired,
    InFlight,
    NoEffect,
    NothingThere,
    OutcomeUnknown,
    StoreError,
    ToolOutcomeUnknown,
)
from callgate.events.vocabulary import FAILED, SUCCEEDED, TIMED_OUT, UNKNOWN
from callgate.ledger.transitions import EARLIER, NESTED, speaks_for_all
from callgate.model.artifact import ARTIFACT, WithArtifact
from callgate.model.levels import Category, Happened
from callgate.model.outcome import ErrorInfo, Failed, Outcome, Pending, Succeeded, Unknown
from callgate.model.shapes import as_mapping
from callgate.pipeline.execute import FenceLost, ParentEnded
from callgate.pipeline.processes import OutputLost
from callgate.pipeline.recall import only_reads, repeatable
from callgate.pipeline.recorded import WRITTEN_ALIKE, struck_output
from callgate.pipeline.trouble import categorize, retryable, speak, suggestion, words

if TYPE_CHECKING:
    from callgate.model.tool import Tool
    from callgate.pipeline.executed import Executed
    from callgate.pipeline.parts import Parts


_UNSETTLED = (ToolOutcomeUnknown, OutcomeUnknown, InFlight)
"""What a handler raises that asked for the outcome of a call of its own and got none."""
_GO_ON = "Have the call inside decided or resolved, then call again with the same key: it goes on where it stopped."


@dataclass(slots=True)
class Ending:
    """The outcome, the event that closes the call, and why it is unknown, where it is."""

    outcome: Outcome
    event: str
    cause: str | None = None
    audit_text: str | None = None
    """The exception's own words for the audit, struck; the outcome may mask them."""
    known: dict[str, Any] | None = None
    """What the gate itself knows of it besides, for the event; what a tool says of itself is in the error alone."""
    told: Outcome | None = None
    """What the caller is told instead of what is recorded: that it waits for a person, inside."""
    written: bytes = b"null"
    """The output as JSON, made once for the ledger and the event."""


def ending_of(parts: Parts, executed: Executed) -> Ending:
    """What the ended handler means, and what was tried before it under the key."""
    ending = _own_ending(parts, executed)
    if type(ending.outcome) is Failed and ending.outcome.happened is not Happened.DONE:
        return _after_others(executed, ending, ending.outcome)
    return ending


def _own_ending(parts: Parts, executed: Executed) -> Ending:
    """As it is by itself. What it returned may be an object of anybody's class, and break when looked at."""
    try:
        # A cancelled caller may have been too late: what came through counts.
        stopped = executed.timed_out or (executed.cancelled and not executed.came_through)
        if executed.error is None and not stopped:
            return _returned(parts, executed)
        return _stopped(parts, executed)
    except BaseException as error:  # noqa: BLE001 - a call that ran is closed whatever its output does
        executed.value = None
        return _unreadable(executed, type(error).__name__)


def _unreadable(executed: Executed, fault: str) -> Ending:
    tool = executed.permit.tool
    text = f"{tool.name} ended, but what it returned cannot be read ({fault})"
    info = _info(tool, "output_invalid", text, Category.RUNTIME)
    return _failed(executed, info, _left_behind(executed, Happened.DONE))


def _after_others(executed: Executed, ending: Ending, failed: Failed) -> Ending:
    """A failure takes nothing back of what a try before it, or an attempt before it under its key, may have done."""
    row, unknown = executed.permit.row, [error for error in executed.lost if _is_lost(categorize(error))]
    if row is not None and not speaks_for_all(row, failed.happened):
        cause, who = EARLIER, "an attempt before it under this key"
    elif unknown:
        cause, who = _cause(categorize(unknown[-1])), "a try before it"
    else:
        if executed.lost and failed.happened is Happened.NONE and failed.error is not None:
            ending.outcome = _failed(executed, failed.error, Happened.POSSIBLE).outcome
        return ending
    said = failed.error.message if failed.error is not None else "it failed"
    info = _info(executed.permit.tool, "outcome_unknown", f"{said}; {who} may have taken effect", Category.RUNTIME)
    details = failed.error.details if failed.error is not None else {}
    after = _unknown(executed, _with(info, details), cause=ending.cause or cause)
    after.audit_text, after.known, after.told = ending.audit_text, ending.known, ending.told
    return after


def _is_lost(category: Category) -> bool:
    return category in {Category.NETWORK, Category.TIMEOUT}


def _stopped(parts: Parts, executed: Executed) -> Ending:
    error = executed.error
    if isinstance(error, FenceLost):
        return _fence_lost(executed)
    if isinstance(error, ParentEnded):
        return _failed(executed, _info(executed.permit.tool, "cancelled", str(error), Category.RUNTIME), Happened.NONE)
    if isinstance(error, StoreError) and not executed.entered:
        return _not_entered(executed, error)
    if isinstance(error, OutputLost):
        return _unreadable(executed, error.args[0])
    if executed.timed_out:
        return _timed_out(executed)
    if error is None or (executed.cancelled and not executed.came_through):
        return _cancelled(executed)
    return _raised(parts, executed, error)


def _returned(parts: Parts, executed: Executed) -> Ending:
    permit = executed.permit
    tool, asked = permit.tool, permit.asked
    metadata: dict[str, Any] = {}
    if type(executed.value) is WithArtifact:
        metadata[ARTIFACT] = struck_output(parts, executed.value.artifact)[0]
        executed.value = executed.value.content
    value, written = struck_output(parts, executed.value)
    soft = None if type(value) in WRITTEN_ALIKE else _soft_error(tool, value)
    if soft is not None:
        info = _info(tool, "handler_failed", soft, Category.RUNTIME)
        return _failed(executed, info, _left_behind(executed, Happened.POSSIBLE))
    fault = None if tool.output_check is None else tool.output_check(executed.value)
    if fault is not None:
        told = parts.striker.strike_text(fault)
        text = f"{tool.name} ended, but what it returned does not fit its output schema: {told}"
        return _failed(
            executed, _info(tool, "output_invalid", text, Category.RUNTIME), _left_behind(executed, Happened.DONE)
        )
    outcome = Succeeded(
        tool=tool.name,
        call_id=asked.call_id,
        trace_id=asked.context.trace_id,
        key=permit.key,
        decision=permit.decision,
        duration_ms=executed.duration_ms,
        side_effects=tool.side_effects,
        metadata=metadata,
        value=value,
    )
    return Ending(outcome, SUCCEEDED, written=written)


def _soft_error(tool: Tool, value: Any) -> str | None:
    """The text of a returned `{"error": "…"}`, unless the output schema declares such a field."""
    body = as_mapping(value)
    text: Any = None if body is None else body.get("error")
    if not isinstance(text, str) or not text:
        return None
    declared = tool.output_schema is not None and "error" in tool.output_schema.get("properties", {})
    return None if declared else text


def _raised(parts: Parts, executed: Executed, error: BaseException) -> Ending:
    tool = executed.permit.tool
    category = categorize(error)
    message = parts.striker.strike_text(speak(tool.name, error))
    waiting = _waiting(parts, executed, error)
    known = None if waiting is None else {"approval_id": waiting.approval_id}
    if known is not None:
        info = _with(_info(tool, "approval_required", message, Category.PERMISSION), known)
    else:
        info = _info(tool, "handler_failed", message, category, again=retryable(error))
        if isinstance(error, NothingThere):
            info = _with(info, parts.striker.strike(error.details))
    if not executed.past_return or isinstance(error, NoEffect):
        ending = _failed(executed, info, Happened.NONE)
        ending.cause = NESTED if waiting is not None else None
    elif _is_lost(category) or isinstance(error, asyncio.CancelledError):
        ending = _unknown(executed, _info(tool, "outcome_unknown", message, category), cause=_cause(category))
    elif waiting is not None or isinstance(error, _UNSETTLED):
        unsettled = _with(_info(tool, "outcome_unknown", message, category), info.details)
        ending = _unknown(
            executed, replace(unsettled, suggestion=_GO_ON) if _goes_on(executed) else unsettled, cause=NESTED
        )
    else:
        ending = _failed(executed, info, Happened.POSSIBLE)
    ending.audit_text = parts.striker.strike_text(f"{type(error).__name__}: {words(error)}")
    ending.known, ending.told = known, waiting
    return ending


def _waiting(parts: Parts, executed: Executed, error: BaseException) -> Pending | None:
    """A call made inside waits for a person, and so does this one, where it may go on under its own key."""
    if not isinstance(error, ApprovalRequired) or not _goes_on(executed):
        return None
    waits: dict[str, Any] = {"approval_id": error.approval_id, "expires_at": error.expires_at}
    return Pending(lasting=parts.lasting, **waits, **_common(executed))


def _goes_on(executed: Executed) -> bool:
    """Whether it may run again under its key; a read not, where something inside of it took effect."""
    tool = executed.permit.tool
    return repeatable(tool) and not (only_reads(tool) and executed.context.effect_inside)


def _cause(category: Category) -> str:
    return "network" if category is Category.NETWORK else "handler_timeout"


def _timed_out(executed: Executed) -> Ending:
    tool, limit = executed.permit.tool, executed.permit.limit
    text = f"{tool.name} timed out: timeout after {limit:g} seconds"
    known = {"timed_out": True, "timeout": limit}
    if executed.past_return:
        info = _info(tool, "outcome_unknown", f"{text}; whether it took effect is not known", Category.TIMEOUT)
        ending = _unknown(executed, _with(info, known), cause="timeout")
    else:
        info = _with(_info(tool, "timed_out", text, Category.TIMEOUT, again=True), known)
        ending = _failed(executed, info, Happened.NONE, event=TIMED_OUT)
    ending.known = known
    return ending


def _cancelled(executed: Executed) -> Ending:
    tool = executed.permit.tool
    if executed.past_return:
        text = f"{tool.name} was cancelled while it ran; whether it took effect is not known"
        return _unknown(executed, _info(tool, "outcome_unknown", text, Category.RUNTIME), cause="cancelled")
    info = _info(tool, "cancelled", f"{tool.name} was cancelled", Category.RUNTIME)
    return _failed(executed, info, Happened.NONE)


def _fence_lost(executed: Executed) -> Ending:
    tool = executed.permit.tool
    text = f"{tool.name} was not entered: another process owns this key by now"
    return _failed(executed, _info(tool, "in_flight", text, Category.RESOURCE, again=True), Happened.NONE)


def _not_entered(executed: Executed, error: StoreError) -> Ending:
    """The store failed between the claim and the handler, which was therefore not entered."""
    tool = executed.permit.tool
    text = f"{tool.name} was not entered: the store is unavailable: {error}"
    return _failed(executed, _info(tool, "store_unavailable", text, Category.RESOURCE, again=True), Happened.NONE)


def _left_behind(executed: Executed, happened: Happened) -> Happened:
    only_read = executed.permit.tool.read_only and not executed.context.effect_inside
    return Happened.NONE if only_read else happened


def _info(tool: Tool, code: str, message: str, category: Category, *, again: bool = False) -> ErrorInfo:
    advice = (
        suggestion(category) if code != "outcome_unknown" else "Do not repeat it; find out first whether it happened."
    )
    return ErrorInfo(code=code, message=message, category=category, tool=tool.name, retryable=again, suggestion=advice)


def _with(info: ErrorInfo, details: dict[str, Any]) -> ErrorInfo:
    return replace(info, details=details)


def _failed(executed: Executed, info: ErrorInfo, happened: Happened, *, event: str = FAILED) -> Ending:
    if happened is Happened.POSSIBLE:
        info = replace(info, suggestion="It may have taken effect all the same: find out before calling it again.")
    return Ending(Failed(error=info, happened=happened, **_common(executed)), event)


def _unknown(executed: Executed, info: ErrorInfo, *, cause: str) -> Ending:
    return Ending(Unknown(error=info, **_common(executed)), UNKNOWN, cause)


def _common(executed: Executed) -> dict[str, Any]:
    permit = executed.permit
    return {
        "tool": permit.tool.name,
        "call_id": permit.asked.call_id,
        "trace_id": permit.context.trace_id,
        "key": permit.key,
        "decision": permit.decision,
        "duration_ms": executed.duration_ms,
        "side_effects": permit.tool.side_effects,
        "cause": executed.error,
    }
