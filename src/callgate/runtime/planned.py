"""Running a plan: its calls as they were decided. One that a person was asked about waits, and runs, as a whole."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from callgate.errors import Conflict, NotFound
from callgate.flows.batch import Unreadable, run_waves
from callgate.flows.waves import must_follow, one_by_one
from callgate.model.approval import Approval, ApprovalState
from callgate.model.call import Call
from callgate.model.outcome import Failed, Pending, Succeeded, Unknown
from callgate.pipeline.deciding import reread
from callgate.pipeline.record import record
from callgate.pipeline.stopped import refused, refused_by
from callgate.runtime.entering import as_asked, enter, refuse_malformed

if TYPE_CHECKING:
    from callgate.flows.plan import Plan
    from callgate.model.outcome import Outcome
    from callgate.model.tool import Tool
    from callgate.runtime.opened import Opened

_MADE = (Succeeded, Failed, Unknown)
_GOES_ON = frozenset({ApprovalState.APPROVED, ApprovalState.USED})


async def run_plan(opened: Opened, plan: Plan, *, at_once: int) -> list[Outcome]:
    """Make the calls of a plan; outcomes in their order."""
    find = opened.parts.registry.snapshot.find
    running = _Running(opened, plan, find)
    if plan.approval_id is not None:
        held = await running.held(plan.approval_id)
        if held is not None:
            return held
    # Waves were worked out from declarations; where one is another by now, nothing of it is relied on.
    waves = plan.waves if running.unchanged else one_by_one(plan.waves)
    return await run_waves(waves, running.make, at_once=at_once)


class _Running:
    def __init__(self, opened: Opened, plan: Plan, find: Callable[[str], Tool | None]) -> None:
        self._opened = opened
        self._plan = plan
        self._find = find
        self._follows = must_follow(plan.waves)
        self._outcomes: dict[int, Outcome] = {}

    @property
    def unchanged(self) -> bool:
        """Whether the tools declare what they did when the plan was made."""
        found = (None if isinstance(call, Unreadable) else self._find(call.tool) for call in self._plan.calls)
        return tuple(None if tool is None else tool.definition_hash for tool in found) == self._plan.definitions

    async def make(self, place: int) -> Outcome:
        call, context = self._plan.calls[place], self._plan.context
        if isinstance(call, Unreadable):
            return await refuse_malformed(self._opened.parts, context, call, call.fault)
        missing = None if self._plan.approval_id is None else self._missing(place)
        if missing is None:
            outcome = await enter(self._opened, call, context)
        else:
            outcome = await self._refuse_follower(call, missing)
        self._outcomes[place] = outcome
        return outcome

    def _missing(self, place: int) -> int | None:
        """A call that was not made, and that this one follows in the list a person approved."""
        return next((at for at in self._follows(place) if not isinstance(self._outcomes.get(at), _MADE)), None)

    async def _refuse_follower(self, call: Call, missing: int) -> Outcome:
        parts = self._opened.parts
        asked = as_asked(call, self._plan.context, None)
        before = f"call {missing + 1} ({self._plan.calls[missing].tool})"
        message = f"{before} of the plan was not made, and this one was approved to come after it"
        return await record(parts, asked, refused(asked, "approval_void", message, tool=self._find(call.tool)))

    async def held(self, approval_id: str) -> list[Outcome] | None:
        """What every call of the plan ends with while nobody said yes to it; None when they may be made."""
        parts = self._opened.parts
        try:
            question = await reread(parts, approval_id)
        except (Conflict, NotFound) as error:
            return [await self._void(place, str(error)) for place in range(len(self._plan.calls))]
        if question.state in _GOES_ON or await self._has_begun(approval_id):
            return None
        if question.state is ApprovalState.PENDING:
            return [self._pending(place, question) for place in range(len(self._plan.calls))]
        return [await self._said(place, question) for place in range(len(self._plan.calls))]

    async def _has_begun(self, approval_id: str) -> bool:
        """Whether calls of it were made: those are answered, and what is left is asked about anew."""
        rows = await self._opened.parts.store.read(lambda reader: reader.approvals_of_plan(approval_id))
        return any(row.state is ApprovalState.USED for row in rows)

    def _pending(self, place: int, question: Approval) -> Outcome:
        call, tool = self._plan.calls[place], self._find(self._plan.calls[place].tool)
        return Pending(
            tool=call.tool,
            call_id=question.call_id,
            trace_id=self._plan.context.trace_id,
            key=self._plan.keys[place],
            decision=self._plan.decisions[place],
            side_effects=() if tool is None else tool.side_effects,
            approval_id=question.id,
            expires_at=question.expires_at,
            lasting=self._opened.lasting,
        )

    async def _said(self, place: int, question: Approval) -> Outcome:
        asked = as_asked(self._call(place), self._plan.context, None)
        stop = refused_by(asked, self._find(asked.call.tool), question)
        stop.payload["plan_id"] = question.id
        return await record(self._opened.parts, asked, stop)

    async def _void(self, place: int, message: str) -> Outcome:
        asked = as_asked(self._call(place), self._plan.context, None)
        return await record(self._opened.parts, asked, refused(asked, "approval_void", message))

    def _call(self, place: int) -> Call:
        call = self._plan.calls[place]
        return call if isinstance(call, Call) else Call(call.tool, {})
