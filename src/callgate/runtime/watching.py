"""Watching what tools read: a source that changed since it was last read is recorded as stale."""

from __future__ import annotations

from typing import TYPE_CHECKING

from callgate.events.staleness import is_change, note_reading, note_writing

if TYPE_CHECKING:
    from callgate.model.context import Context
    from callgate.model.tool import Tool
    from callgate.pipeline.parts import Sources
    from callgate.ports import Transaction


def note_sources(
    tx: Transaction, tool: Tool, sources: Sources, context: Context, /, *, project: str, at: float, in_order: bool
) -> bool:
    """Note every source a call read or wrote; one that changed since this user's last reading gets its event.

    Not `in_order`, nothing is noted where one of them changed, and the answer is no.
    """
    user, trace = context.user or context.principal, context.trace_id
    if not in_order and any(
        is_change(tx, user=user, project=project, path=path, content=content, now=at) for path, content in sources
    ):
        return False
    for path, content in sources:
        if tool.effectful:
            note_writing(tx, user=user, project=project, path=path, content=content, now=at)
            continue
        draft = note_reading(tx, user=user, project=project, path=path, content=content, now=at, trace=trace)
        if draft is not None:
            tx.append(draft)
    return True
