"""Raising: an outcome as the value or the exception that code written for a raising executor expects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from callgate.errors import ToolTimeoutError

if TYPE_CHECKING:
    from callgate.model.outcome import Outcome

_BY_THE_HANDLER = frozenset({"handler_failed", "outcome_unknown"})


def result_or_raise(outcome: Outcome) -> Any:
    """The output.

    Raises:
        ToolTimeoutError: The time limit was reached, whether or not the effect is known.
        Exception: What the handler raised, the very object.
        ToolError: The typed error of anything else.
    """
    error = outcome.error
    if error is not None and error.details.get("timed_out"):
        raise ToolTimeoutError(error.message, info=error)
    if isinstance(outcome.cause, Exception) and error is not None and error.code in _BY_THE_HANDLER:
        raise outcome.cause
    return outcome.unwrap()
