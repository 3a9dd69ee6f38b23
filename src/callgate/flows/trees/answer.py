"""Answer: how the call of a leaf ended, in what a tree needs to know. From an outcome, or from an executor's JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from callgate.model.canonical import NotCanonical, dumps, loads
from callgate.model.outcome import Outcome, Succeeded, Unknown
from callgate.model.shapes import as_mapping

_UNKNOWN = "outcome_unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """How a leaf's call ended."""

    value: Any = None
    """The output, where there is one."""
    error: str | None = None
    """Why it did not succeed; None if it did."""
    unknown: dict[str, Any] | None = None
    """Set where nobody knows whether it took effect: what is known of it."""


def answer_of(outcome: Outcome) -> Answer:
    """What an outcome means for a tree. Anything but Succeeded is a failure; unknown says so besides."""
    if isinstance(outcome, Succeeded):
        return Answer(value=outcome.value)
    message = outcome.error.message if outcome.error is not None else outcome.to_human()
    if not isinstance(outcome, Unknown) and (outcome.error is None or outcome.error.code != _UNKNOWN):
        return Answer(error=message)
    # A refusal names the key of the attempt that nobody knows the end of, where that is another one.
    key = outcome.key if outcome.error is None else outcome.error.details.get("unknown_key", outcome.key)
    told = {"message": message, "tool": outcome.tool, "key": key, "call_id": outcome.call_id}
    return Answer(value=outcome.output, error=message, unknown=told)


def answer_of_json(result: Any) -> Answer:
    """What an executor gave that answers in JSON text, `{"error": …}` for whatever went wrong."""
    if not isinstance(result, str | bytes):
        return Answer(value=result)
    try:
        return Answer(value=loads(result))
    except NotCanonical as error:
        return Answer(error=f"the executor's answer is no JSON: {error}")


def error_in(value: Any) -> str | None:
    """The text of an `error` in a result, if it has one that says anything."""
    fields = as_mapping(value)
    found: Any = None if fields is None else fields.get("error")
    if not found:
        return None
    if isinstance(found, str):
        return found
    try:
        return dumps(found).decode()
    except NotCanonical:
        return type(found).__name__


def decoded(value: Any) -> Any:
    """A JSON object that came as text, as what it is; everything else as it is."""
    if not isinstance(value, str) or not value.lstrip().startswith("{"):
        return value
    try:
        return loads(value)
    except NotCanonical:
        return value
