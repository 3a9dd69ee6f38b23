"""Listing questions: every one as it stands, whatever somebody without the key did to the others. Decides nothing."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from callgate.approvals.bind import intact
from callgate.errors import ApprovalConflict, ApprovalNotFound, RowUnreadable
from callgate.events.vocabulary import GATE_REQUIRED
from callgate.model.approval import Approval, ApprovalState
from callgate.pipeline import deciding

if TYPE_CHECKING:
    from callgate.pipeline.parts import Parts
    from callgate.ports import Reader

_log = logging.getLogger("callgate")


async def questions(parts: Parts, states: frozenset[ApprovalState] | None, limit: int | None) -> list[Approval]:
    """Questions in these states, oldest first; those whose time is up are expired first, and edited ones are void."""
    await _expire(parts)
    if states is None or ApprovalState.VOID in states:
        shown = [_shown(parts, found) for found in await parts.store.read(_all)]
        return [found for found in shown if states is None or found.state in states][:limit]
    found = await parts.store.read(lambda reader: _all(reader, states))
    return [approval for approval in found if _shown(parts, approval) is approval][:limit]


async def _expire(parts: Parts) -> None:
    now = parts.clock.now()
    pending = frozenset({ApprovalState.PENDING})
    for overdue in await parts.store.read(lambda reader: _all(reader, pending)):
        if intact(overdue, parts.keys) and overdue.expires_at <= now:
            try:
                await deciding.reread(parts, overdue.id)
            except (ApprovalConflict, ApprovalNotFound):
                # Edited or removed: one question never hides the others.
                continue


def _all(reader: Reader, states: frozenset[ApprovalState] | None = None) -> list[Approval]:
    try:
        return reader.approvals(states=states)
    except RowUnreadable as error:
        _log.warning("%s", error)
    return [found for found in _one_by_one(reader) if states is None or found.state in states]


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


def _shown(parts: Parts, approval: Approval) -> Approval:
    if intact(approval, parts.keys):
        return approval
    _log.warning("approval %s was changed in the store by somebody without the key; it is void", approval.id)
    return replace(approval, state=ApprovalState.VOID)
