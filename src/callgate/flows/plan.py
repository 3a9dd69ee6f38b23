"""Plan: several calls decided before any of them is made. A value; makes no call and asks nobody."""

from __future__ import annotations

from dataclasses import dataclass

from callgate.flows.batch import Unreadable
from callgate.flows.waves import Waves
from callgate.model.call import Call
from callgate.model.context import Context
from callgate.model.counted import counted
from callgate.model.decision import Decision
from callgate.model.levels import Verdict
from callgate.model.visible import one_line


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What would become of several calls: made by `gate.plan`, run by `gate.batch`."""

    calls: tuple[Call | Unreadable, ...]
    """In their order, each with the key it will run under; an element that is no call stands in its place."""
    decisions: tuple[Decision, ...]
    """What was decided about each, with every reason."""
    waves: Waves
    """The places of the calls, wave by wave: what may overlap stands together."""
    context: Context
    """Who asks."""
    approval_id: str | None = None
    """The one question about all of them; None where nobody was asked."""
    definitions: tuple[str | None, ...] = ()
    """The definitions of the tools it was made for."""

    @property
    def keys(self) -> tuple[str | None, ...]:
        """The keys of the calls; a call with the same key and equal arguments is the planned one."""
        return tuple(call.key if isinstance(call, Call) else None for call in self.calls)

    @property
    def verdict(self) -> Verdict:
        """The strictest of the decisions."""
        return max((decision.verdict for decision in self.decisions), default=Verdict.ALLOW)

    def to_human(self) -> str:
        """The plan for a person: wave by wave, what was decided about each call and why."""
        calls, waves = counted(len(self.calls), "call"), counted(len(self.waves), "wave")
        lines = [f"{calls} in {waves}: {self.verdict.label}"]
        for number, wave in enumerate(self.waves, start=1):
            lines.append(f"wave {number}")
            lines += [f"  {place + 1}. {self._line(place)}" for place in wave]
        if self.approval_id is not None:
            lines.append(f"asked as approval {self.approval_id}")
        return "\n".join(lines)

    def _line(self, place: int) -> str:
        decision = self.decisions[place]
        why = [one_line(reason.text) for reason in decision.reasons if reason.verdict is decision.verdict]
        told = f" ({'; '.join(why)})" if why and decision.verdict is not Verdict.ALLOW else ""
        return f"{one_line(self.calls[place].tool) or 'no call'}: {decision.verdict.label}{told}"

    def __str__(self) -> str:
        return self.to_human()
