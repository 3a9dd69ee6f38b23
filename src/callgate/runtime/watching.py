"""Watching what tools read: a source that changed since it was last read is recorded as stale."""

from __future__ import annotations

from typing import TYPE_CHECKING

from callgate.events.staleness import note_reading, note_writing

if TYPE_CHECKING:
    from callgate.model.context import Context
    from callgate.model.tool import Tool
    from callgate.pipeline.parts import Sources
    from callgate.ports import Transaction


def note_sources(
    tx: Transaction, tool: Tool, sources: Sources, context: Context, /, *, project: str, at: float
) -> None:
    """Note every source a call read or wrote; one that changed since this user's last reading gets its event."""
    user, trace = context.user or context.principal, context.trace_id
    for path, content in sources:
        if tool.effectful:
            note_writing(tx, user=user, project=project, path=path, content=content, now=at)
            continue
        draft = note_reading(tx, user=user, project=project, path=path, content=content, now=at, trace=trace)
        if draft is not None:
            tx.append(draft)
