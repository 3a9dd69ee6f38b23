"""The exception behind an outcome, for the developer of its tool. Never for a model: it is told what it can act on."""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING

from callgate.secrets.strike import process_striker

if TYPE_CHECKING:
    from callgate.model.outcome import Outcome


def cause_text(outcome: Outcome) -> str:
    """The traceback of the handler's own exception, secrets struck; empty where there is none."""
    if outcome.cause is None:
        return ""
    return process_striker().strike_text("".join(traceback.format_exception(outcome.cause))).rstrip()
