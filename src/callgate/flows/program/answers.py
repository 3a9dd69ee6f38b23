"""Answers: how a call ended, as a program sees it: a value, or an exception it can handle."""

from __future__ import annotations

from typing import Any

from callgate.errors import ToolTimeoutError
from callgate.flows.program.steps import Answer, Error, Value
from callgate.model.canonical import NotCanonical, dumps, loads
from callgate.model.outcome import Failed, Happened, Outcome, Refused, Succeeded, Unknown

_NOT_NOW = frozenset({"in_flight", "store_unavailable"})
_UNKNOWN = "outcome_unknown"
_NO_ANSWER = frozenset({"idempotency_conflict", "tool_unavailable"})
"""Refusals that are nobody's no: the program cannot take another way because it may not take this one."""
_SHORT = 1 << 63


class NotNow(Exception):
    """The call has no answer now and may have one later: it is going on elsewhere, or cannot be recorded."""


def answer_of(outcome: Outcome) -> Answer:
    """What the program is told.

    Raises:
        NotNow: Nothing that would still be true when it is asked again.
    """
    if isinstance(outcome, Succeeded):
        return _value(outcome.value)
    message = _text(outcome.error.message if outcome.error is not None else outcome.to_human())
    code = outcome.error.code if outcome.error is not None else outcome.status
    if isinstance(outcome, Unknown) or code == _UNKNOWN:
        return Error("RuntimeError", f"unknown: whether {outcome.tool} took effect cannot be known: {message}")
    if code in _NOT_NOW and not (isinstance(outcome, Failed) and outcome.happened is not Happened.NONE):
        raise NotNow(message)
    if isinstance(outcome, Refused):
        return Error("RuntimeError" if code in _NO_ANSWER else "PermissionError", f"{code}: {message}")
    if isinstance(outcome, Failed):
        return Error("TimeoutError" if code == ToolTimeoutError.code else "RuntimeError", f"{code}: {message}")
    return Error("PermissionError", f"{outcome.tool} was only shown, not run")


def _value(value: Any) -> Answer:
    if _is_plain(value):
        return Value(value)
    try:
        return Value(loads(dumps(value)))
    except NotCanonical as error:
        told = _text(f"the call succeeded, and what it returned cannot be handed to a program: {error}")
        return Error("ValueError", told)


def _is_plain(value: Any) -> bool:
    """Whether it is seen at once that the value can be written and read back; most are small."""
    if type(value) is str:
        return value.isascii()
    if type(value) is int:
        return -_SHORT <= value < _SHORT
    return value is None or type(value) is bool


def _text(told: str) -> str:
    """A text that can be written down, whatever a tool put into it."""
    return told.encode("utf-8", "backslashreplace").decode()
