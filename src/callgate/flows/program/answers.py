"""Answers: how a call ended, as a program sees it: a value, or an exception it can handle."""

from __future__ import annotations

from typing import Any

from callgate.flows.program.steps import Answer, Error, Value
from callgate.model.canonical import NotCanonical, dumps, loads
from callgate.model.outcome import Failed, Outcome, Refused, Succeeded, Unknown

_SIMPLE = (str, int, float, bool, type(None))
_NOT_NOW = frozenset({"in_flight", "store_unavailable"})


class NotNow(Exception):
    """The call has no answer now and may have one later: it is going on elsewhere, or cannot be recorded."""


def answer_of(outcome: Outcome) -> Answer:
    """What the program is told.

    Raises:
        NotNow: Nothing that would still be true when it is asked again.
    """
    if isinstance(outcome, Succeeded):
        return _value(outcome.value)
    message = outcome.error.message if outcome.error is not None else outcome.to_human()
    code = outcome.error.code if outcome.error is not None else outcome.status
    if isinstance(outcome, Refused):
        if code in _NOT_NOW:
            raise NotNow(message)
        return Error("PermissionError", f"{code}: {message}")
    if isinstance(outcome, Unknown):
        return Error("RuntimeError", f"unknown: whether {outcome.tool} took effect cannot be known: {message}")
    if isinstance(outcome, Failed):
        return Error("TimeoutError" if code == "timeout" else "RuntimeError", f"{code}: {message}")
    return Error("PermissionError", f"{outcome.tool} was only shown, not run")


def _value(value: Any) -> Answer:
    if isinstance(value, _SIMPLE):
        return Value(value)
    try:
        return Value(loads(dumps(value)))
    except NotCanonical as error:
        return Error("ValueError", f"what the tool returned cannot be handed to a program: {error}")
