"""Calls: the face of a gate that agents use. Every way in ends in the one pipeline."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Self

from callgate.errors import ApprovalConflict, ApprovalNotFound
from callgate.model.approval import SAID_NO, Approval, ApprovalState
from callgate.model.attempt import AttemptKey
from callgate.model.call import Call
from callgate.model.context import Context
from callgate.model.outcome import Succeeded
from callgate.pipeline import judge as judging
from callgate.pipeline.deciding import reread
from callgate.pipeline.explain import explain
from callgate.pipeline.judge import Judgement
from callgate.pipeline.parts import Parts
from callgate.pipeline.recall import recorded_outcome
from callgate.pipeline.record import record
from callgate.pipeline.seal import unseal
from callgate.pipeline.stopped import refused, refused_by
from callgate.pipeline.time_limit import time_limit
from callgate.runtime.anywhere import Anywhere
from callgate.runtime.entering import as_asked, enter
from callgate.runtime.opened import Face
from callgate.runtime.skill_around import skill_around

if TYPE_CHECKING:
    from callgate.model.decision import Decision
    from callgate.model.outcome import Outcome


class Calls(Face):
    """Calling tools through the gate."""

    async def call(
        self,
        tool: str,
        arguments: Mapping[str, Any] | None = None,
        context: Context | None = None,
        *,
        wait: float | None = None,
        timeout: float | None = None,
        distinct: bool = False,
    ) -> Outcome:
        """Call a tool and say how it ended.

        Args:
            tool: Its name.
            arguments: What it is called with.
            context: Who asks and under which limits; the gate's own when left out.
            wait: Seconds to wait for a person where one has to decide; at once Pending when left out.
            timeout: Seconds the handler may take; the tool's own limit when left out.
            distinct: A new effect on purpose, although an equal call has an unknown outcome.

        Returns:
            The outcome, whatever it is; `outcome.unwrap()` gives the output or raises.
        """
        opened = self._open()
        call = Call(tool, {} if arguments is None else arguments, None, None, distinct, timeout)
        return await enter(opened, call, context or opened.default_context, wait=wait)

    @property
    def context(self) -> Context:
        """Who asks where a call does not say.

        Raises:
            ConfigurationError: The gate is not open.
        """
        return self._open().default_context

    def anywhere(self) -> Anywhere[Self]:
        """The way to this gate from other threads and other loops, for frameworks that have their own."""
        return Anywhere(self, self._open().home)

    async def explain(
        self, tool: str, arguments: Mapping[str, Any] | None = None, context: Context | None = None
    ) -> Decision:
        """What would be decided about this call and why, without doing or recording anything."""
        opened = self._open()
        call = Call(str(tool), {} if arguments is None else arguments)
        return await explain(opened.parts, as_asked(call, context or opened.default_context, None))

    def time_limit(
        self,
        tool: str,
        context: Context | None = None,
        *,
        timeout: float | None = None,
        instance: float | None = None,
    ) -> float:
        """Seconds a call of this tool may take: the call's own, the user's, the tool's, the instance's, else 30.

        Args:
            tool: Its name.
            context: Who asks.
            timeout: The call's own.
            instance: In place of the configured limit of the instance.

        Raises:
            ValueError: `timeout` is not a positive number of seconds.
        """
        opened = self._open()
        found = opened.parts.registry.find(tool)
        ground = context or opened.default_context
        return time_limit(found or tool, ground, opened.parts.settings, per_call=timeout, instance=instance)

    async def judge(
        self, call: Call, context: Context | None = None, *, wait: float | None = None, again: bool = False
    ) -> Judgement:
        """Decide about a tool that its host runs itself, and write the intent; settle it with `report`.

        A tool that the gate can run is refused: it is called, so that nobody only says that it ran. With `again`,
        the key is of one use that its host may ask about more than once: a yes that no person gave is said again while
        it runs.
        """
        opened = self._open()
        ground = context or opened.default_context
        found: list[Judgement] = []

        async def core(inner: Call, inner_context: Context) -> Outcome:
            asked = as_asked(inner, inner_context, wait)
            asked.judged, asked.again = True, again
            found.append(await judging.judge(opened.parts, asked))
            return found[-1].outcome or _may_run(found[-1], inner)

        outcome = await enter(opened, call, ground, core=core)
        if found and (found[-1].outcome is None) == isinstance(outcome, Succeeded):
            return found[-1]
        # Middleware answered in the gate's place.
        return Judgement(id=outcome.call_id, allowed=False, decision=outcome.decision, outcome=outcome, key=outcome.key)

    async def report(self, judgement_id: str, *, ok: bool, output: Any = None, error: str | None = None) -> Outcome:
        """Say what became of a judged call.

        Raises:
            OutcomeNotFound: No judged call has that id.
            OutcomeConflict: It was settled otherwise already.
        """
        return await judging.report(self._open().parts, judgement_id, ok=ok, output=output, error=error)

    async def outcome(self, key: str, context: Context | None = None) -> Outcome | None:
        """What the ledger says of a key: None for a free one, Refused in_flight for a running one."""
        opened = self._open()
        who = context or opened.default_context
        return await recorded_outcome(opened.parts, AttemptKey(who.principal, who.session, key))

    async def resume(self, approval_id: str, context: Context | None = None, *, wait: float | None = None) -> Outcome:
        """Make the call of a decided approval, under the asker's own context.

        Args:
            approval_id: Which one.
            context: Who collects it; where given, it must be who asked, and the call may do no more than both.
            wait: Seconds to wait for a person where nobody has decided yet; at once Pending when left out.

        Raises:
            ApprovalNotFound: No such approval, or somebody else's.
            ApprovalConflict: Its sealed call is gone.
        """
        return await self.collect(approval_id, None if context is None else lambda _role: context, wait=wait)

    async def collect(
        self, approval_id: str, collector: Callable[[str], Context] | None, *, wait: float | None = None
    ) -> Outcome:
        """As `resume`, for somebody whose context depends on the role that the call was asked for in.

        Raises:
            ApprovalNotFound: No such approval, or somebody else's.
            ApprovalConflict: Its sealed call is gone.
        """
        opened = self._open()
        approval = await reread(opened.parts, approval_id)
        if collector is not None and not _asked_by(collector(Context().role), approval):
            raise ApprovalNotFound(f"Unknown approval: {approval_id}")
        if approval.is_plan:
            raise ApprovalConflict(f"approval {approval_id} is a plan; run it with gate.batch(plan)")
        sealed = await unseal(opened.parts, approval.sealed_id)
        if sealed is None:
            raise ApprovalConflict(f"the sealed call of approval {approval_id} is gone; make the call again")
        arguments = sealed.extra.get("asked", sealed.arguments)
        distinct = sealed.extra.get("distinct", False) is True
        call = Call(approval.tool, arguments, key=approval.key, timeout=sealed.extra.get("timeout"), distinct=distinct)
        stale = approval.state in SAID_NO and opened.parts.clock.now() >= approval.expires_at
        if stale or approval.state in {ApprovalState.EXPIRED, ApprovalState.WITHDRAWN}:
            return await _over(opened.parts, call, sealed.context, approval)
        # A question of a call inside a skill is the skill's: run again, it finds the decision and goes on.
        call, asker = await skill_around(opened.parts, sealed.context) or (call, sealed.context)
        if collector is None:
            return await enter(opened, call, asker, wait=wait)
        try:
            both = asker.meet(collector(asker.role))
        except ValueError as error:
            return await _not_for_both(opened.parts, call, collector(asker.role), str(error))
        return await enter(opened, call, both, wait=wait)


def _asked_by(context: Context, approval: Approval) -> bool:
    """Whether this is who asked: a tool may do something else for another user of the same agent."""
    asked = (approval.principal, approval.session, approval.user)
    return (context.principal, context.session, context.user) == asked


async def _not_for_both(parts: Parts, call: Call, context: Context, why: str) -> Outcome:
    asked = as_asked(call, context, None)
    message = f"{call.tool} is not made for who collects it: {why}; make the call anew"
    return await record(parts, asked, refused(asked, "policy_denied", message))


async def _over(parts: Parts, call: Call, context: Context, approval: Approval) -> Outcome:
    """What became of the question: resuming never asks anew what a person has said no to, however long ago."""
    asked = as_asked(call, context, None)
    stop = refused_by(asked, parts.registry.snapshot.find(call.tool), approval)
    return await record(parts, asked, stop)


def _may_run(judgement: Judgement, call: Call) -> Outcome:
    """What middleware sees of a call its host may run now."""
    return Succeeded(tool=call.tool, call_id=judgement.id, key=judgement.key, decision=judgement.decision)
