"""Which reasons of a decision a person is shown, and which of them ask for something."""

from __future__ import annotations

from typing import TYPE_CHECKING

from callgate.model.levels import Verdict

if TYPE_CHECKING:
    from callgate.model.decision import Decision


def reasons_shown(decision: Decision) -> tuple[str, ...]:
    """The reasons a person is shown: what raised the risk, and what asks for something."""
    raising = tuple(reason.text for reason in decision.reasons if reason.raises)
    return (*raising, *asking_reasons(decision))


def asking_reasons(decision: Decision) -> tuple[str, ...]:
    """The reasons that ask for something; one that was not shown asks again."""
    strict = tuple(r.text for r in decision.reasons if r.verdict is not None and r.verdict > Verdict.ALLOW)
    return strict or (f"risk {decision.risk.label} at autonomy {decision.autonomy.label} needs a person",)
