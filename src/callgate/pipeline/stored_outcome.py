"""The recorded form of an outcome: what the ledger keeps, and reading it back as the outcome it was."""

from __future__ import annotations

from typing import Any

from callgate.model.attempt import Attempt, AttemptState
from callgate.model.levels import Category, Happened
from callgate.model.outcome import ErrorInfo, Failed, Outcome, Refused, Succeeded, Unknown


def stored(outcome: Outcome, output: Any) -> dict[str, Any]:
    """What is kept of an outcome; `output` is its JSON form."""
    body: dict[str, Any] = {"side_effects": list(outcome.side_effects), "duration_ms": outcome.duration_ms}
    if outcome.error is not None:
        body["error"] = _error_body(outcome.error)
    if output is not None:
        body["output"] = output
    return body


def _error_body(error: ErrorInfo) -> dict[str, Any]:
    return {
        "code": error.code,
        "message": error.message,
        "category": error.category.value,
        "retryable": error.retryable,
        "suggestion": error.suggestion,
        "details": error.details,
    }


def read_outcome(
    row: Attempt, *, call_id: str | None = None, trace_id: str | None = None, deduped: bool = False
) -> Outcome:
    """The outcome a row stands for, told to another call of its key. A started row is Refused in_flight."""
    body = row.outcome or {}
    common: dict[str, Any] = {
        "tool": row.tool,
        "call_id": call_id or row.call_id,
        "trace_id": trace_id or row.trace_id,
        "deduped": deduped,
        "key": row.key.key,
        "side_effects": tuple(body.get("side_effects", ())),
        "duration_ms": body.get("duration_ms", 0.0),
    }
    if row.resolved_by:
        common["metadata"] = {"resolved_by": row.resolved_by}
    if row.state is AttemptState.SUCCEEDED:
        return Succeeded(value=body.get("output"), **common)
    if row.state is AttemptState.FAILED:
        return Failed(error=_error(body, row), happened=row.happened or Happened.POSSIBLE, **common)
    if row.state is AttemptState.UNKNOWN:
        return Unknown(error=_error(body, row), value=body.get("output"), **common)
    running = ErrorInfo(code="in_flight", message=f"a call with key {row.key.key} is still running", tool=row.tool)
    return Refused(error=running, **common)


def _error(body: dict[str, Any], row: Attempt) -> ErrorInfo:
    error = body.get("error")
    if error is None:
        text = f"whether {row.tool} took effect is not known ({row.cause or 'no record'})"
        return ErrorInfo(code="outcome_unknown", message=text, tool=row.tool, suggestion="Ask a person to resolve it.")
    return ErrorInfo(
        code=error["code"],
        message=error["message"],
        category=Category(error["category"]),
        tool=row.tool,
        retryable=error["retryable"],
        suggestion=error["suggestion"],
        details=error["details"],
    )
