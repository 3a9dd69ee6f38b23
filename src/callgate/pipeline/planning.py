"""Planning: one question about several calls. Each that needs a person has an approval of its own, decided with all.

The approvals are ordinary ones: bound to their exact call, used up by it, judged again when they are. What they share
is the list a person was shown, under the seal of each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from callgate.approvals.plans import Demands, list_bytes, listing, strictest
from callgate.approvals.show import payload
from callgate.errors import ApprovalConflict, LimitExceeded
from callgate.model.approval import OPEN_STATES, SAID_NO, Approval, ApprovalState, Listed, Part
from callgate.model.ids import uuid7
from callgate.model.levels import FOREIGN, Verdict
from callgate.model.tool import Preview
from callgate.pipeline.approval_events import take_back
from callgate.pipeline.approval_made import new_approval, put_question, sealed_call, too_many_wait
from callgate.pipeline.asking import ask_now
from callgate.pipeline.deciding import reread
from callgate.pipeline.preview import Shown, preview
from callgate.pipeline.under_one_id import UnderOneId, aged, find, write_age

if TYPE_CHECKING:
    from callgate.errors import Refusal
    from callgate.model.context import Context
    from callgate.model.decision import Decision
    from callgate.pipeline.authorize import Authorized
    from callgate.pipeline.parts import Parts
    from callgate.ports import Reader, Transaction

MOST_CALLS = 100
"""A person reads them all."""
MOST_CHARACTERS = 1_000_000
_LATER = "not shown: a call before it in the plan may change what it would show"


class PlannedCall(NamedTuple):
    """One call of a plan, looked at."""

    authorized: Authorized
    decision: Decision | None
    """None: the ledger has its outcome, and would answer with it."""
    wave: int
    own_key: bool
    """Whether the key came with the call."""

    @property
    def asks(self) -> bool:
        """Whether it needs a person."""
        return self.decision is not None and self.decision.verdict is Verdict.CONFIRM


class CannotWork(NamedTuple):
    """Calls of a plan of which their own tools know that they would fail."""

    why: dict[int, Refusal]
    """By their places."""


async def ask_plan(parts: Parts, calls: Sequence[PlannedCall]) -> Approval | CannotWork:
    """The question about all of these calls that stands, or a new one; some of them need a person.

    Nobody is asked where the tool of one that needs a person knows that it cannot work.

    Raises:
        LimitExceeded: They are too many or too long to be read, or too many questions wait already.
    """
    listed = tuple(_listed(parts, call) for call in calls)
    _check_size(listed)
    context, digest = calls[0].authorized.asked.context, parts.keys.fingerprint(list_bytes(listed))
    asking = frozenset(place for place, call in enumerate(calls) if call.asks)
    found = await parts.store.read(lambda reader: _standing(parts, reader, context, digest, asking))
    if found is None:
        shown = {place: await _shown(parts, calls, place) for place in sorted(asking)}
        cannot_work = {place: each.cannot_work for place, each in shown.items() if each.cannot_work is not None}
        if cannot_work:
            return CannotWork(cannot_work)
        new = _new(parts, calls, listed, shown, digest)
        found = await parts.store.write(lambda tx: _put(parts, tx, context, new))
    if isinstance(found, str):
        raise LimitExceeded(found)
    plan = found.shown
    if plan.state is ApprovalState.PENDING and parts.asker is not None and await ask_now(parts, plan):
        return await reread(parts, plan.id)
    return plan


def _listed(parts: Parts, call: PlannedCall) -> Listed:
    authorized, tool = call.authorized, call.authorized.tool
    assert authorized.asked.key is not None  # noqa: S101 - every call of a plan that is asked about has one
    return Listed(
        tool=tool.name,
        definition_hash=tool.definition_hash,
        fingerprint=authorized.fingerprint,
        key=authorized.asked.key,
        own_key=call.own_key,
        wave=call.wave,
        asks=call.asks,
        what=payload(tool.name, parts.striker.strike(authorized.arguments)),
    )


def _check_size(listed: Sequence[Listed]) -> None:
    if len(listed) > MOST_CALLS:
        raise LimitExceeded(f"a plan of {len(listed)} calls is too long for a person to read; {MOST_CALLS} is the most")
    length = sum(len(call.what) for call in listed)
    if length > MOST_CHARACTERS:
        message = f"the calls of this plan have {length} characters, too many to read; {MOST_CHARACTERS} is the most"
        raise LimitExceeded(message)


class _New(NamedTuple):
    """A question about a plan before it is asked."""

    rows: tuple[Approval, ...]
    blobs: tuple[bytes, ...]
    decisions: tuple[Decision, ...]
    digest: str
    asking: frozenset[int]


def _new(
    parts: Parts, calls: Sequence[PlannedCall], listed: tuple[Listed, ...], shown: Mapping[int, Shown], digest: str
) -> _New:
    asking = [(place, call, call.decision) for place, call in enumerate(calls) if call.asks and call.decision]
    demands = strictest([_demands(call, decision) for _, call, decision in asking])
    plan_id, now = uuid7(), parts.clock.now()
    common: dict[str, Any] = {
        "created_at": now,
        "expires_at": now + parts.settings.approvals.expires,
        "by": demands.by,
        "assurance": demands.assurance,
        "plus": demands.plus,
        "on_expiry": demands.on_expiry,
    }
    rows: list[Approval] = []
    for place, call, decision in asking:
        part = Part(plan_id=plan_id, place=place, digest=digest)
        own = {"part": part, "calls": () if rows else listed}
        rows.append(new_approval(parts, call.authorized, decision, shown[place], **common, **own))
    blobs = (sealed_call(parts, call.authorized, row) for (_, call, _), row in zip(asking, rows, strict=True))
    decisions = tuple(decision for _, _, decision in asking)
    return _New(tuple(rows), tuple(blobs), decisions, digest, frozenset(shown))


def _demands(call: PlannedCall, decision: Decision) -> Demands:
    undoes = call.authorized.tool.hooks.undo is not None
    on_expiry = decision.on_expiry if undoes else "reject"
    return Demands(by=decision.by, assurance=decision.assurance, plus=decision.plus, on_expiry=on_expiry)


async def _shown(parts: Parts, calls: Sequence[PlannedCall], place: int) -> Shown:
    """What the call would do, where that can be known before the others are made; nothing is bound that they change."""
    call, tool = calls[place], calls[place].authorized.tool
    after_an_effect = any(not before.authorized.tool.read_only and before.wave < call.wave for before in calls[:place])
    if not after_an_effect:
        return await preview(parts, call.authorized)
    supported = tool.hooks.preview is not None and tool.source not in FOREIGN
    return Shown(Preview(text=_LATER) if supported else None, supported=supported)


def _standing(parts: Parts, reader: Reader, context: Context, digest: str, asking: frozenset[int]) -> UnderOneId | None:
    """The question about this very list that still stands: open for every call that needs a person, or said no to."""
    plan_id, now = reader.latest_plan(context.principal, context.session, digest), parts.clock.now()
    try:
        found = None if plan_id is None else aged(find(parts, reader, plan_id), now)
    except ApprovalConflict:
        return None
    if found is None:
        return None
    if all(row.state in SAID_NO and now < row.expires_at for row in found.rows):
        return found
    open_for = {row.part.place for row in found.rows if row.part is not None and row.state in OPEN_STATES}
    return found if asking and asking <= open_for else None


def _put(parts: Parts, tx: Transaction, context: Context, new: _New) -> UnderOneId | str:
    """Ask, unless it was asked meanwhile; why not, when too many questions wait."""
    standing = _standing(parts, tx, context, new.digest, new.asking)
    if standing is not None:
        return standing
    _withdraw_older(parts, tx, context, new.digest)
    full = too_many_wait(parts, tx, context)
    if full is not None:
        return full
    for row, blob, decision in zip(new.rows, new.blobs, new.decisions, strict=True):
        whole = {"plan": listing(row.calls)} if row.calls else {}
        put_question(parts, tx, row, blob, role=context.role, decision=decision, **whole)
    return UnderOneId(new.rows, plan=True)


def _withdraw_older(parts: Parts, tx: Transaction, context: Context, digest: str) -> None:
    """A question about the same list that asks about too few of its calls, by now, is asked no more."""
    plan_id, now = tx.latest_plan(context.principal, context.session, digest), parts.clock.now()
    if plan_id is None:
        return
    try:
        older = write_age(parts, tx, find(parts, tx, plan_id), now)
    except ApprovalConflict:
        return
    for row in older.rows if older.shown.state is ApprovalState.PENDING else ():
        take_back(parts, tx, row, "the rules ask about more of its calls")
