"""The recorded form of an outcome: what the ledger keeps, and reading it back as the outcome it was."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from callgate.errors import StoreError
from callgate.events.recordable import read_back, recordable_bytes
from callgate.model.artifact import ARTIFACT
from callgate.model.attempt import Attempt, AttemptState
from callgate.model.levels import Category, Happened
from callgate.model.outcome import ErrorInfo, Failed, Outcome, Refused, Succeeded, Unknown
from callgate.model.shapes import as_mapping
from callgate.pipeline.recorded import json_bytes
from callgate.pipeline.stopped import refusal

_NOTHING = b"null"
_SUCCEEDED = AttemptState.SUCCEEDED
_FAILED = AttemptState.FAILED
_UNKNOWN = AttemptState.UNKNOWN


def stored(outcome: Outcome, output: bytes) -> bytes:
    """What is kept of an outcome; `output` is its output's JSON form."""
    body: dict[str, Any] = {"side_effects": outcome.side_effects, "duration_ms": outcome.duration_ms}
    if outcome.error is not None:
        body["error"] = error_body(outcome.error)
    if output != _NOTHING:
        body["output"] = orjson.Fragment(output)
    if ARTIFACT in outcome.metadata:
        body[ARTIFACT] = orjson.Fragment(json_bytes(outcome.metadata[ARTIFACT]))
    return recordable_bytes(body)


def recorded_body(row: Attempt) -> Mapping[str, Any]:
    """What a row keeps of its outcome.

    Raises:
        StoreError: Somebody edited it until it could not be read any more.
    """
    try:
        body = as_mapping({} if row.outcome is None else read_back(row.outcome))
    except ValueError:
        body = None
    if body is None:
        raise _unreadable(row)
    return body


def error_body(error: ErrorInfo) -> dict[str, Any]:
    """What is kept of an error."""
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
    """The outcome a row stands for, told to another call of its key. A started row is Refused in_flight.

    Raises:
        StoreError: Somebody edited it until it could not be read any more.
    """
    body = recorded_body(row)
    try:
        outcome = _kind_of(row, body)
        outcome.side_effects = tuple(body.get("side_effects", ()))
        "".join(outcome.side_effects)
        outcome.duration_ms = body.get("duration_ms", 0.0) + 0.0
    except (KeyError, TypeError, ValueError) as error:
        raise _unreadable(row) from error
    outcome.trace_id = trace_id or row.trace_id
    outcome.call_id = call_id or row.call_id
    outcome.key = row.key.key
    outcome.deduped = deduped
    if row.resolved_by:
        outcome.metadata = {"resolved_by": row.resolved_by}
    if ARTIFACT in body:
        outcome.metadata[ARTIFACT] = body[ARTIFACT]
    return outcome


def _kind_of(row: Attempt, body: Mapping[str, Any]) -> Outcome:
    if row.state is _SUCCEEDED:
        return Succeeded(tool=row.tool, call_id=row.call_id, value=body.get("output"))
    if row.state is _FAILED:
        happened = row.happened or Happened.POSSIBLE
        return Failed(tool=row.tool, call_id=row.call_id, error=_error(body, row), happened=happened)
    if row.state is _UNKNOWN:
        return Unknown(tool=row.tool, call_id=row.call_id, error=_error(body, row), value=body.get("output"))
    text = f"a call with key {row.key.key} is still running"
    return Refused(tool=row.tool, call_id=row.call_id, error=refusal("in_flight", text, tool=row.tool))


def _error(body: Mapping[str, Any], row: Attempt) -> ErrorInfo:
    error = body.get("error")
    if error is None:
        text = f"whether {row.tool} took effect is not known ({row.cause or 'no record'})"
        return ErrorInfo(code="outcome_unknown", message=text, tool=row.tool, suggestion="Ask a person to resolve it.")
    texts, details = (error["code"], error["message"], error["suggestion"] or ""), as_mapping(error["details"])
    if not all(isinstance(text, str) for text in texts) or details is None:
        raise TypeError("an error is told in words")
    return ErrorInfo(
        code=texts[0],
        message=texts[1],
        category=Category(error["category"]),
        tool=row.tool,
        retryable=error["retryable"] is True,
        suggestion=error["suggestion"],
        details=dict(details),
    )


def _unreadable(row: Attempt) -> StoreError:
    return StoreError(f"the recorded outcome of key {row.key.key} cannot be read; see `callgate audit verify`")
