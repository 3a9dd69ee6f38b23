"""Calls: the face of a gate that agents use. Every way in ends in the one pipeline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, overload

from callgate.errors import ApprovalConflict, ApprovalNotFound
from callgate.flows.batch import run_batch
from callgate.model.approval import Approval, ApprovalState
from callgate.model.attempt import AttemptKey
from callgate.model.call import Call
from callgate.model.context import Context
from callgate.model.ids import uuid7
from callgate.model.outcome import Succeeded
from callgate.model.shapes import as_mapping
from callgate.pipeline import judge as judging
from callgate.pipeline.deciding import reread
from callgate.pipeline.explain import explain
from callgate.pipeline.judge import Judgement
from callgate.pipeline.parts import Asked, Parts
from callgate.pipeline.pipeline import run
from callgate.pipeline.recall import recorded_outcome
from callgate.pipeline.record import record
from callgate.pipeline.seal import unseal
from callgate.pipeline.stopped import refused
from callgate.pipeline.time_limit import time_limit
from callgate.runtime.anywhere import Anywhere
from callgate.runtime.opened import Around, Face, Opened, Proceed
from callgate.runtime.skill_around import skill_around

if TYPE_CHECKING:
    from callgate.model.decision import Decision
    from callgate.model.outcome import Outcome

_SAID_NO = frozenset({ApprovalState.REJECTED, ApprovalState.ANSWERED})


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
        call = Call(tool, {} if arguments is None else arguments, distinct=distinct, timeout=timeout)
        return await enter(opened, call, context or opened.default_context, wait=wait)

    async def _make(self, call: Call, context: Context, *, wait: float | None = None) -> Outcome:
        """Make a call that a flow put together."""
        return await enter(self._open(), call, context, wait=wait)

    def anywhere(self) -> Anywhere:
        """The way to `call` from other threads and other loops, for frameworks that have their own."""
        return Anywhere(self.call, self._open().home)

    @overload
    async def batch(
        self, calls: Sequence[Any], context: Context | None = None, *, include_call_ids: Literal[False] = False
    ) -> list[Outcome]: ...
    @overload
    async def batch(
        self, calls: Sequence[Any], context: Context | None = None, *, include_call_ids: Literal[True]
    ) -> list[tuple[str, Outcome]]: ...
    async def batch(
        self, calls: Sequence[Any], context: Context | None = None, *, include_call_ids: bool = False
    ) -> list[Outcome] | list[tuple[str, Outcome]]:
        """Make several calls; outcomes in the order of the calls, one failure never another's.

        Calls of tools that are not concurrency-safe do not overlap. With `include_call_ids`, (id, outcome) pairs.
        """
        opened = self._open()
        ground = context or opened.default_context
        if ground.idempotency_key is not None:
            # One key names one call; a batch's calls carry their own.
            ground = replace(ground, idempotency_key=None)
        find = opened.parts.registry.snapshot.find

        def is_safe(name: str) -> bool:
            tool = find(name)
            return tool is None or tool.concurrency_safe

        pairs = await run_batch(
            calls,
            make=lambda call: enter(opened, call, ground),
            malformed=partial(_malformed, opened.parts, ground),
            is_safe=is_safe,
        )
        return pairs if include_call_ids else [outcome for _, outcome in pairs]

    async def explain(
        self, tool: str, arguments: Mapping[str, Any] | None = None, context: Context | None = None
    ) -> Decision:
        """What would be decided about this call and why, without doing or recording anything."""
        opened = self._open()
        call = Call(str(tool), {} if arguments is None else arguments)
        return await explain(opened.parts, _asked(opened.parts, call, context or opened.default_context, None))

    def time_limit(self, tool: str, context: Context | None = None, *, timeout: float | None = None) -> float:
        """Seconds a call of this tool may take: the call's own, the user's, the tool's, the instance's, else 30.

        Raises:
            ValueError: `timeout` is not a positive number of seconds.
        """
        opened = self._open()
        found = opened.parts.registry.find(tool)
        ground = context or opened.default_context
        return time_limit(found or tool, ground, opened.parts.settings, per_call=timeout)

    async def judge(self, call: Call, context: Context | None = None, *, wait: float | None = None) -> Judgement:
        """Decide about a tool that its host runs itself, and write the intent; settle it with `report`."""
        opened = self._open()
        ground = context or opened.default_context
        found: list[Judgement] = []

        async def core(inner: Call, inner_context: Context) -> Outcome:
            asked = _asked(opened.parts, inner, inner_context, wait)
            asked.judged = True
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

    async def resume(self, approval_id: str, context: Context | None = None) -> Outcome:
        """Make the call of a decided approval, under the asker's own context.

        Raises:
            ApprovalNotFound: No such approval.
            ApprovalConflict: Somebody else's, or its sealed call is gone.
        """
        opened = self._open()
        approval = await reread(opened.parts, approval_id)
        sealed = await unseal(opened.parts, approval.sealed_id)
        if sealed is None:
            raise ApprovalConflict(f"the sealed call of approval {approval_id} is gone; make the call again")
        if context is not None and (context.principal, context.session) != (approval.principal, approval.session):
            raise ApprovalNotFound(f"Unknown approval: {approval_id}")
        arguments = sealed.extra.get("asked", sealed.arguments)
        distinct = sealed.extra.get("distinct", False) is True
        call = Call(approval.tool, arguments, key=approval.key, timeout=sealed.extra.get("timeout"), distinct=distinct)
        stale = approval.state in _SAID_NO and opened.parts.clock.now() >= approval.expires_at
        if stale or approval.state in {ApprovalState.EXPIRED, ApprovalState.WITHDRAWN}:
            return await _over(opened.parts, call, sealed.context, approval)
        # A question of a call inside a skill is the skill's: run again, it finds the decision and goes on.
        call, asker = await skill_around(opened.parts, sealed.context) or (call, sealed.context)
        return await enter(opened, call, asker)


async def _over(parts: Parts, call: Call, context: Context, approval: Approval) -> Outcome:
    asked, state = _asked(parts, call, context, None), approval.state
    if state in _SAID_NO:
        # Resuming never asks anew what a person has said no to, however long ago.
        return await record(
            parts, asked, refused(asked, f"approval_{state.value}", approval.text or "a person said no")
        )
    code = "approval_expired" if state is ApprovalState.EXPIRED else "approval_void"
    return await record(parts, asked, refused(asked, code, f"the approval is {state.value}; make the call again"))


async def enter(
    opened: Opened, call: Call, context: Context, *, wait: float | None = None, core: Proceed | None = None
) -> Outcome:
    """Every way in: through the middleware, counted, and at the first call with a look at the policy."""
    if not isinstance(call.tool, str):  # pyright: ignore[reportUnnecessaryIsInstance] - models write anything
        call = call._replace(tool=f"<{type(call.tool).__name__}>")
    if not opened.looked_at_policy:
        opened.look_at_policy()
    opened.under_way += 1
    try:
        if core is None and not opened.around:
            return await run(opened.parts, _asked(opened.parts, call, context, wait))
        proceed = core or _run(opened, wait)
        for layer in reversed(opened.around):
            proceed = _wrapped(layer, proceed)
        return await proceed(call, context)
    finally:
        opened.under_way -= 1


def _run(opened: Opened, wait: float | None) -> Proceed:
    async def core(call: Call, context: Context) -> Outcome:
        return await run(opened.parts, _asked(opened.parts, call, context, wait))

    return core


def _may_run(judgement: Judgement, call: Call) -> Outcome:
    """What middleware sees of a call its host may run now."""
    return Succeeded(tool=call.tool, call_id=judgement.id, key=judgement.key, decision=judgement.decision)


def _wrapped(layer: Around, inner: Proceed) -> Proceed:
    async def proceed(call: Call, context: Context) -> Outcome:
        return await layer(call, context, inner)

    return proceed


def _asked(parts: Parts, call: Call, context: Context, wait: float | None) -> Asked:
    key = call.key if call.key is not None else context.idempotency_key
    return Asked(call, context, uuid7(), key, wait, parts.clock.monotonic())


async def _malformed(parts: Parts, context: Context, item: Any, message: str) -> Outcome:
    body = as_mapping(item)
    name: Any = getattr(item, "tool", None) if body is None else body.get("name")
    asked = _asked(parts, Call(name if isinstance(name, str) else "", {}), context, None)
    return await record(parts, asked, refused(asked, "invalid_arguments", message, faults=(message,)))
