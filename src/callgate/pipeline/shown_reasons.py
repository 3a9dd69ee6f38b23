"""Which reasons of a decision a person is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from callgate.model.decision import Decision


def reasons_shown(decision: Decision) -> tuple[str, ...]:
    """The reasons a person is shown: what raised the risk, and what asks for something."""
    raising = tuple(reason.text for reason in decision.reasons if reason.raises)
    return (*raising, *decision.asks)
