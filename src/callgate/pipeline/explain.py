"""Explaining: steps 1 to 5 without side effects. No preview, no limit, no record; every reason, layer by layer."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from callgate.ledger.transitions import Answer, look
from callgate.model.decision import Decision, Reason
from callgate.model.levels import Autonomy, Risk, Verdict
from callgate.pipeline.authorize import Authorized
from callgate.pipeline.fingerprint import fingerprint
from callgate.pipeline.recall import attempt_key
from callgate.pipeline.resolve import resolve
from callgate.pipeline.stopped import Stopped
from callgate.pipeline.validate import validate
from callgate.pipeline.weigh import gather_facts

if TYPE_CHECKING:
    from callgate.model.tool import Arguments, Tool
    from callgate.pipeline.parts import Asked, Parts


async def explain(parts: Parts, asked: Asked) -> Decision:
    """What would be decided about this call, and every reason for it."""
    try:
        tool = resolve(parts, asked, looking=True)
        arguments = validate(parts, asked, tool)
    except Stopped as stop:
        return _stopped(parts, asked, stop)
    standing = parts.policy.standing(tool, asked.context)
    authorization = parts.policy.authorize(tool, arguments, asked.context, standing)
    authorized = Authorized(asked, tool, arguments, standing, authorization)
    if not tool.read_only or asked.key is not None:
        authorized.fingerprint = fingerprint(parts, tool, arguments, authorization.resources)
    facts = await gather_facts(parts, authorized)
    decision = parts.policy.explain(tool, arguments, asked.context, facts)
    return await _with_memory(parts, authorized, decision, tool, arguments)


async def _with_memory(
    parts: Parts, authorized: Authorized, decision: Decision, tool: Tool, arguments: Arguments
) -> Decision:
    """Add what the ledger and the tool's own check would say."""
    reasons = list(decision.reasons)
    key = authorized.asked.key
    if key is not None:
        row = await parts.store.read(lambda reader: reader.attempt(attempt_key(authorized, key)))
        answer = look(row, authorized.fingerprint, idempotent=tool.idempotent)
        if answer is not Answer.CLAIMED:
            reasons.append(Reason("recall", f"the key {key} is used: it would answer {answer.value}"))
    if tool.hooks.check is not None:
        reasons.append(Reason("check", f"{tool.name} also makes its own check of {', '.join(arguments) or 'the call'}"))
    return replace(decision, reasons=tuple(reasons))


def _stopped(parts: Parts, asked: Asked, stop: Stopped) -> Decision:
    error = stop.outcome.error
    assert error is not None  # noqa: S101 - a refusal always says why
    step = "validate" if error.code == "invalid_arguments" else "resolve"
    texts = error.faults or (error.message,)
    return Decision(
        verdict=Verdict.DENY,
        risk=Risk.CRITICAL,
        autonomy=asked.context.autonomy or parts.settings.autonomy or Autonomy.A2,
        reasons=tuple(Reason(step, text, Verdict.DENY, error.code) for text in texts),
        code=error.code,
    )
