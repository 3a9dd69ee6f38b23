"""Dry runs of programs: every effect is shown instead of made, and the real run makes exactly those, or stops."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from callgate.approvals.show import payload
from callgate.flows.program.stand_in import stand_in
from callgate.flows.program.steps import SandboxError
from callgate.model.levels import Category, Verdict
from callgate.model.outcome import ErrorInfo, Outcome, Previewed, Refused, Succeeded
from callgate.model.program import Planned

if TYPE_CHECKING:
    from callgate.flows.program.running import Asking
    from callgate.model.decision import Decision
    from callgate.secrets.strike import Striker

Explain = Callable[["Asking"], Awaitable["Decision"]]
Make = Callable[["Asking"], Awaitable[Outcome]]


@dataclass(slots=True, kw_only=True)
class DryRun:
    """Answers a program's calls without any effect: reads are made, effects are shown and answered by a stand-in."""

    read: Make
    explain: Explain
    """What would be decided about the call in earnest."""
    show: Make
    """The call at the level of autonomy at which the gate makes no effect."""
    striker: Striker
    planned: dict[int, tuple[Planned, dict[str, Any]]] = field(
        default_factory=dict[int, tuple[Planned, dict[str, Any]]]
    )

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
        return Succeeded(tool=asking.tool.name, call_id=shown.call_id, value=stand_in(asking.tool.output_schema))


def as_planned(exact: tuple[dict[str, Any], ...], make: Make) -> Make:
    """Makes only what was planned, one after the other in its order: that is what a person said yes to.

    Raises:
        SandboxError: Out of `make`, where the program comes to another effect than its dry run.
    """
    expected = {each["ordinal"]: (each["tool"], each["arguments"]) for each in exact}
    # Calls come in the order of their ordinals, and a lock lets in who came first.
    turn = asyncio.Lock()

    async def made(asking: Asking) -> Outcome:
        if asking.tool.read_only:
            return await make(asking)
        if expected.get(asking.ordinal) != (asking.tool.name, asking.arguments):
            told = expected.get(asking.ordinal, ("no effect", None))[0]
            found = "other arguments" if told == asking.tool.name else asking.tool.name
            raise SandboxError("diverged", f"call {asking.ordinal} was {told} in its dry run, and has {found} now")
        async with turn:
            return await make(asking)

    return made


def _refused(asking: Asking, decision: Decision) -> Refused:
    decisive = [reason for reason in decision.reasons if reason.verdict is Verdict.DENY]
    text = decisive[-1].text if decisive else f"{asking.tool.name} is denied"
    code = (decisive[-1].code if decisive else "") or decision.code or "gate_denied"
    info = ErrorInfo(code=code, message=text, category=Category.PERMISSION, tool=asking.tool.name)
    return Refused(tool=asking.tool.name, call_id="", error=info, decision=decision)
