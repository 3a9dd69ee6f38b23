"""An outcome as JSON and back, for turns that are kept while a person thinks. Decisions and causes stay behind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from callgate.errors import MalformedResponse
from callgate.model.levels import Category, Happened
from callgate.model.outcome import ErrorInfo, Failed, Outcome, Pending, Previewed, Refused, Succeeded, Unknown
from callgate.model.tool import Preview
from callgate.pipeline.recorded import json_form
from callgate.runtime.telling import reasons

_KINDS: dict[str, type[Outcome]] = {
    kind.status: kind for kind in (Succeeded, Failed, Unknown, Refused, Pending, Previewed)
}
_PLAIN = ("tool", "call_id", "trace_id", "key", "duration_ms", "deduped")
_TYPES: dict[str, type | tuple[type, ...]] = {
    "tool": str,
    "call_id": str,
    "trace_id": str,
    "key": (str, type(None)),
    "duration_ms": (int, float),
    "deduped": bool,
    "approval_id": str,
    "expires_at": (int, float),
    "supported": bool,
}


def outcome_to_json(outcome: Outcome) -> dict[str, Any]:
    """Everything a result is made from."""
    body: dict[str, Any] = {"status": outcome.status} | {name: getattr(outcome, name) for name in _PLAIN}
    body |= {"side_effects": list(outcome.side_effects), "metadata": json_form(outcome.metadata) | _observed(outcome)}
    if outcome.error is not None:
        body["error"] = _error_to_json(outcome.error)
    if isinstance(outcome, Succeeded | Unknown):
        body["value"] = json_form(outcome.value)
    elif isinstance(outcome, Failed):
        body["happened"] = outcome.happened.value
    elif isinstance(outcome, Pending):
        body |= {"approval_id": outcome.approval_id, "expires_at": outcome.expires_at}
        body["metadata"] |= {"why": reasons(outcome)}
    elif isinstance(outcome, Previewed):
        body |= {"supported": outcome.supported, "preview": None if outcome.preview is None else outcome.preview.text}
    return body


def _observed(outcome: Outcome) -> dict[str, Any]:
    """That a call was only observed, and what would have been decided: else its end looks as if nobody minded it."""
    decision = outcome.decision
    if decision is None or decision.observed is None:
        return {}
    why = [reason.text for reason in decision.reasons if reason.raises or reason.verdict is not None]
    return {"observed": decision.observed.label, "why": why}


def outcome_from_json(body: Mapping[str, Any]) -> Outcome:
    """The outcome that was written.

    Raises:
        MalformedResponse: It is none.
    """
    try:
        return _read(body)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise MalformedResponse(f"an outcome of the turn cannot be read ({type(error).__name__})") from None


def _read(body: Mapping[str, Any]) -> Outcome:
    kind = _KINDS[body["status"]]
    fields: dict[str, Any] = {name: body[name] for name in _PLAIN}
    fields |= {"side_effects": tuple(body["side_effects"]), "metadata": dict(body["metadata"])}
    if body.get("error") is not None:
        fields["error"] = _error_from_json(body["error"])
    if kind in {Succeeded, Unknown}:
        fields["value"] = body["value"]
    elif kind is Failed:
        fields["happened"] = Happened(body["happened"])
    elif kind is Pending:
        fields |= {name: body[name] for name in ("approval_id", "expires_at")}
    elif kind is Previewed:
        shown = body["preview"]
        fields |= {"supported": body["supported"], "preview": None if shown is None else Preview(text=str(shown))}
    _check(fields)
    return kind(**fields)


def _check(fields: Mapping[str, Any]) -> None:
    for name, kinds in _TYPES.items():
        if name in fields and not isinstance(fields[name], kinds):
            message = f"{name} is of another type"
            raise TypeError(message)


def _error_to_json(error: ErrorInfo) -> dict[str, Any]:
    return {
        "code": error.code,
        "message": error.message,
        "category": error.category.value,
        "tool": error.tool,
        "retryable": error.retryable,
        "suggestion": error.suggestion,
        "faults": list(error.faults),
        "details": json_form(error.details),
    }


def _error_from_json(body: Mapping[str, Any]) -> ErrorInfo:
    return ErrorInfo(
        code=str(body["code"]),
        message=str(body["message"]),
        category=Category(body["category"]),
        tool=str(body["tool"]),
        retryable=body["retryable"] is True,
        suggestion=None if body["suggestion"] is None else str(body["suggestion"]),
        faults=tuple(str(fault) for fault in body["faults"]),
        details=dict(body["details"]),
    )
