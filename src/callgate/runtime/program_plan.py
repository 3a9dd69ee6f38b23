"""Dry runs of programs: every effect is shown instead of made, and the real run makes exactly those, or stops."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from callgate.approvals.show import payload
from callgate.flows.program.stand_in import stand_in
from callgate.flows.program.steps import SandboxError
from callgate.model.approval import ApprovalState
from callgate.model.levels import Category, Verdict
from callgate.model.outcome import ErrorInfo, Outcome, Previewed, Refused, Succeeded
from callgate.model.program import Planned
from callgate.model.visible import brief

if TYPE_CHECKING:
    from callgate.flows.plan import Plan
    from callgate.flows.program.running import Asking
    from callgate.model.approval import Approval
    from callgate.model.decision import Decision
    from callgate.secrets.strike import Striker

Explain = Callable[["Asking"], Awaitable["Decision"]]
Make = Callable[["Asking"], Awaitable[Outcome]]


@dataclass(slots=True, kw_only=True)
class DryRun:
    """Answers a program's calls without any effect: reads are made, effects are shown and answered by a stand-in."""

    read: Make
    """The call under a context in which the gate refuses effects."""
    explain: Explain
    """What would be decided about the call in earnest."""
    show: Make
    """The call at the level of autonomy at which the gate makes no effect."""
    striker: Striker
    planned: dict[int, tuple[Planned, dict[str, Any]]] = field(
        default_factory=dict[int, tuple[Planned, dict[str, Any]]]
    )

    _standing_in: dict[str, Any] = field(default_factory=dict[str, Any])
    """By tool."""

    async def make(self, asking: Asking) -> Outcome:
        """How the call ends in a dry run."""
        if asking.tool.read_only:
            return await self.read(asking)
        decision = await self.explain(asking)
        if decision.verdict is Verdict.DENY:
            return _refused(asking, decision)
        shown = await self.show(asking)
        text = shown.preview.text if isinstance(shown, Previewed) and shown.preview is not None else None
        what = payload(asking.tool.name, self.striker.strike(asking.arguments))
        planned = Planned(tool=asking.tool.name, what=what, verdict=decision.verdict.label, preview=text)
        self.planned[asking.ordinal] = (planned, asking.arguments)
        value = stand_in(asking.tool.output_schema)
        self._standing_in[asking.tool.name] = value
        return Succeeded(tool=asking.tool.name, call_id=shown.call_id, value=value)

    def stood_in(self) -> str:
        """What to know of an error that came after effects which were not made."""
        if not self._standing_in:
            return ""
        values = ", ".join(
            f"{brief(self.striker.strike_text(repr(value)))} for {tool}" for tool, value in self._standing_in.items()
        )
        return (
            f"\nIn a dry run effects are not made, and stand-ins were their results: {values}. If the error comes from "
            "one, declare the tool's output_schema, or let the program bear such a result."
        )


class AsPlanned:
    """Makes only what was planned, one after the other in its order: that is what a person said yes to."""

    def __init__(self, exact: tuple[dict[str, Any], ...], make: Make) -> None:
        self._expected = {each["ordinal"]: (each["tool"], each["arguments"]) for each in exact}
        self._make = make
        # Calls come in the order of their ordinals, and a lock lets in who came first.
        self._turn = asyncio.Lock()

    def check(self, ordinal: int, asking: Asking | None) -> None:
        """Each call is compared as the program comes to it, so that none behind the first other one is made.

        Raises:
            SandboxError: The program comes to another effect than its dry run here, or leaves one out.
        """
        found = None if asking is None or asking.tool.read_only else (asking.tool.name, asking.arguments)
        told = self._expected.get(ordinal)
        if told == found:
            return
        was = "no effect" if told is None else told[0]
        now = "no effect" if found is None else "other arguments" if found[0] == was else found[0]
        raise SandboxError("diverged", f"call {ordinal} was {was} in its dry run, and has {now} now")

    async def make(self, asking: Asking) -> Outcome:
        """How the call ends.

        Raises:
            SandboxError: Its tool has effects by now, and had none when the program came to it.
        """
        if asking.tool.read_only:
            return await self._make(asking)
        self.check(asking.ordinal, asking)
        async with self._turn:
            return await self._make(asking)


def refusal(question: Approval) -> str | None:
    """Why nothing of the list may be made, for a person; None after a yes."""
    who, said = question.decided_by or "somebody", question.text
    match question.state:
        case ApprovalState.APPROVED | ApprovalState.USED:
            return None
        case ApprovalState.REJECTED:
            return f"{who} said no to the list" + (f": {said}" if said else "")
        case ApprovalState.ANSWERED:
            return f"{who} answered instead of deciding about the list: {said}"
        case state:
            return f"the question about the list is {state.value}: nobody said yes to it"


def denied(plan: Plan) -> str:
    """The calls of a list that would be refused, each with why."""
    places = [place for place, decision in enumerate(plan.decisions) if decision.verdict is Verdict.DENY]
    return "; ".join(f"call {place + 1} ({plan.calls[place].tool}): {_why(plan.decisions[place])}" for place in places)


def _why(decision: Decision) -> str:
    return next((each.text for each in reversed(decision.reasons) if each.verdict is Verdict.DENY), "it is denied")


def _refused(asking: Asking, decision: Decision) -> Refused:
    decisive = [reason for reason in decision.reasons if reason.verdict is Verdict.DENY]
    text = decisive[-1].text if decisive else f"{asking.tool.name} is denied"
    code = (decisive[-1].code if decisive else "") or decision.code or "gate_denied"
    info = ErrorInfo(code=code, message=text, category=Category.PERMISSION, tool=asking.tool.name)
    return Refused(tool=asking.tool.name, call_id="", error=info, decision=decision)
