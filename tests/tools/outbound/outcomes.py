"""Reading outcomes."""

from __future__ import annotations

from callgate.model.levels import Category
from callgate.model.outcome import Outcome


def category_of(outcome: Outcome) -> Category:
    """Of the trouble that a call ended with."""
    assert outcome.error is not None, outcome
    return outcome.error.category
