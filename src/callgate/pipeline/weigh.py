"""Weighing: the decision about one call, with what the store and the labels know about its session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from callgate.credentials.register import credentials
from callgate.model.credential import Right
from callgate.policy.policy import Facts

if TYPE_CHECKING:
    from callgate.model.decision import Decision
    from callgate.pipeline.authorize import Authorized
    from callgate.pipeline.parts import Parts
    from callgate.pipeline.validate import Valid


def decided_before(parts: Parts, authorized: Authorized) -> Decision | None:
    """The decision that this call has in common with others, if it was made before; None where it is to be made."""
    tool, repeated = authorized.tool, authorized.repeated
    if tool.plain_read:  # nothing that the store or the labels know can change it
        return authorized.standing.fixed
    if (
        repeated is None
        or authorized.unknown
        or parts.labels.reasons(tool, authorized.arguments, authorized.asked.context)
    ):
        return None
    return parts.policy.remembered(authorized.standing, repeated=repeated, now=parts.clock.now())


async def decide(parts: Parts, authorized: Authorized) -> Decision:
    """The decision about this call, with what the store knows about the session."""
    facts = await gather_facts(parts, authorized)
    decision = _decided(parts, authorized, facts)
    if not decision.plus:
        return decision
    # Only a *confirm +* depends on who there is to ask, and few calls come to one.
    return _decided(parts, authorized, facts._replace(persons=(*facts.persons, *await _deciders(parts))))


def _decided(parts: Parts, authorized: Authorized, facts: Facts) -> Decision:
    return parts.policy.decide(
        authorized.tool,
        authorized.arguments,
        authorized.asked.context,
        standing=authorized.standing,
        authorization=authorized.authorization,
        facts=facts,
    )


async def _deciders(parts: Parts) -> tuple[str, ...]:
    """The people whom the store lets in to decide, as of now."""
    known = await parts.store.read(lambda reader: credentials(reader, keys=parts.keys))
    now = parts.clock.now()
    return tuple(each.name for each in known if each.may(Right.DECIDE) and each.counts(now))


async def gather_facts(parts: Parts, authorized: Authorized) -> Facts:
    """What the decision needs beyond call and policy."""
    tool, context = authorized.tool, authorized.asked.context
    repeated = authorized.repeated or False
    if authorized.repeated is None and not tool.read_only and authorized.standing.fixed is None:
        since = parts.clock.now() - parts.settings.risk.repeat_window
        repeated = await parts.store.read(
            lambda reader: reader.succeeded_since(context.principal, context.session, authorized.fingerprint, since)
        )
    return known_facts(parts, authorized, repeated=repeated)._replace(unknown=authorized.unknown)


def known_facts(parts: Parts, call: Authorized | Valid, *, repeated: bool = False) -> Facts:
    """What is known without asking the store."""
    return Facts(
        now=parts.clock.now(),
        repeated=repeated,
        label_reasons=tuple(parts.labels.reasons(call.tool, call.arguments, call.asked.context)),
        persons=parts.settings.approvals.persons,
    )
