"""Listing questions: every one as it stands, whatever somebody without the key did to the others. Decides nothing.

A plan is one question, whatever the number of its calls.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from callgate.approvals.bind import intact
from callgate.errors import ApprovalConflict, ApprovalNotFound, RowUnreadable
from callgate.events.vocabulary import GATE_REQUIRED
from callgate.model.approval import Approval, ApprovalState
from callgate.pipeline import deciding
from callgate.pipeline.under_one_id import find, trusted
from callgate.runtime.enough import enough

if TYPE_CHECKING:
    from callgate.pipeline.parts import Parts
    from callgate.ports import Reader

_log = logging.getLogger("callgate")


@dataclass(frozen=True, slots=True, kw_only=True)
class Asker:
    """Whose questions are meant; everybody's, where nothing is said."""

    principal: str | None = None
    session: str | None = None
    within: str | None = None
    """This session, and all below it."""

    def fits(self, approval: Approval) -> bool:
        """Whether it is one of theirs."""
        named = (self.principal, approval.principal), (self.session, approval.session)
        below = self.within is None or f"{approval.session}/".startswith(f"{self.within}/")
        return below and all(wanted in {None, found} for wanted, found in named)


async def questions(
    parts: Parts,
    states: frozenset[ApprovalState] | None,
    *,
    asker: Asker,
    limit: int | None,
    newest_first: bool,
    behind: str | None = None,
) -> list[Approval]:
    """Questions in these states; those whose time is up are expired first, and edited ones are void."""
    await _expire(parts, asker)
    # An edited question may say any state, so that those which are void are looked for among all.
    among = None if states is None or ApprovalState.VOID in states else states

    def unit(reader: Reader) -> list[Approval]:
        plans: dict[str, Approval] = {}

        def keep(found: Approval) -> Approval | None:
            shown = _shown(parts, reader, found)
            if shown.part is not None:
                shown = _plan(parts, reader, shown, plans)
            return shown if states is None or shown.state in states else None

        def read(size: int | None) -> list[Approval]:
            return _listed(reader, among, asker=asker, limit=size, newest_first=newest_first, behind=behind)

        return enough(read, keep=keep, limit=limit, name=lambda shown: shown.id)

    return await parts.store.read(unit)


async def _expire(parts: Parts, asker: Asker) -> None:
    now = parts.clock.now()
    pending = frozenset({ApprovalState.PENDING})
    for overdue in await parts.store.read(lambda reader: _listed(reader, pending, asker=asker, overdue=now)):
        if intact(overdue, parts.keys) and overdue.expires_at <= now:
            try:
                await deciding.reread(parts, overdue.id)
            except (ApprovalConflict, ApprovalNotFound):
                # Edited or removed: one question never hides the others.
                continue


def _listed(
    reader: Reader,
    states: frozenset[ApprovalState] | None,
    *,
    asker: Asker,
    overdue: float | None = None,
    limit: int | None = None,
    newest_first: bool = False,
    behind: str | None = None,
) -> list[Approval]:
    whose = {"principal": asker.principal, "session": asker.session, "within": asker.within}
    try:
        return reader.approvals(
            states=states, **whose, overdue=overdue, limit=limit, newest_first=newest_first, behind=behind
        )
    except RowUnreadable as error:
        _log.warning("%s", error)
    readable = list(_one_by_one(reader))
    ordered = readable[::-1] if newest_first else readable
    # The one to go on behind may have another state by now: it is looked for among all.
    rest = ordered if behind is None else _after(ordered, behind)
    return [found for found in rest if (states is None or found.state in states) and asker.fits(found)][:limit]


def _after(ordered: list[Approval], question: str) -> list[Approval]:
    names = [{found.id, found.part and found.part.plan_id} for found in ordered]
    return ordered[max((place for place, named in enumerate(names, 1) if question in named), default=len(ordered)) :]


def _one_by_one(reader: Reader) -> Iterator[Approval]:
    """Those that can be read, of all that the events tell of."""
    for event in reader.events(types=(GATE_REQUIRED,)):
        approval_id = (event.payload or {}).get("approval_id")
        try:
            found = reader.approval(approval_id) if isinstance(approval_id, str) else None
        except RowUnreadable:
            continue
        if found is not None:
            yield found


def _plan(parts: Parts, reader: Reader, row: Approval, plans: dict[str, Approval]) -> Approval:
    """The plan that this approval is a part of, as one; an approval whose plan was changed is void by itself."""
    plan_id = row.part.plan_id if row.part is not None else row.id
    if row.state is ApprovalState.VOID:
        return row
    if plan_id not in plans:
        try:
            plans[plan_id] = find(parts, reader, plan_id).shown
        except (ApprovalConflict, ApprovalNotFound, RowUnreadable) as error:
            _log.warning("%s", error)
            return replace(row, state=ApprovalState.VOID)
    return plans[plan_id]


def _shown(parts: Parts, reader: Reader, approval: Approval) -> Approval:
    try:
        return trusted(parts, reader, approval)
    except ApprovalConflict as error:
        _log.warning("%s", error)
        return replace(approval, state=ApprovalState.VOID)
