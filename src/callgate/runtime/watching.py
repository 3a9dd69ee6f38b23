"""Watching what tools read: a source that changed since it was last read is recorded as stale."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from callgate.events.staleness import note_reading, note_writing
from callgate.model.shapes import as_mapping

if TYPE_CHECKING:
    from callgate.model.context import Context
    from callgate.model.tool import Arguments, Tool
    from callgate.ports import Clock, Transaction

_MOST_SOURCES = 100


class StalenessWatch:
    """Notes the sources a successful call read or wrote, for tools that declare them."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def __call__(self, tx: Transaction, tool: Tool, arguments: Arguments, output: Any, context: Context) -> None:
        """Note every source; one that changed since this user's last reading gets its event."""
        if tool.hooks.reads is None:
            return
        user = context.user or context.principal
        project = str(arguments.get("project_id") or "default")
        now = self._clock.now()
        for path, content in _sources(tool, arguments, output):
            if tool.read_only:
                draft = note_reading(
                    tx, user=user, project=project, path=path, content=content, now=now, trace=context.trace_id
                )
                if draft is not None:
                    tx.append(draft)
            else:
                note_writing(tx, user=user, project=project, path=path, content=content, now=now)


def _sources(tool: Tool, arguments: Arguments, output: Any) -> list[tuple[str, str | bytes]]:
    hook = tool.hooks.reads
    assert hook is not None  # noqa: S101 - asked by the caller
    try:
        found = hook(arguments, output)
    except Exception:  # noqa: BLE001 - a call that ended well is not undone by what watches it
        return []
    pairs = [(str(path), content) for path, content in (as_mapping(found) or {}).items()]
    pairs = [(path, content) for path, content in pairs if isinstance(content, str | bytes)]
    return pairs[:_MOST_SOURCES]
