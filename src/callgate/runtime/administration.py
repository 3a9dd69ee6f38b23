"""Administration: the face of a gate that operators use. Looks at everything, decides nothing about a call."""

from __future__ import annotations

from typing import TYPE_CHECKING

from callgate.runtime.opened import Face

if TYPE_CHECKING:
    from callgate.model.attempt import Attempt, AttemptState
    from callgate.model.tool import Tool
    from callgate.registry.registry import Registry


class Administration(Face):
    """What an operator asks of a gate."""

    _registry: Registry

    def tool(self, name: str) -> Tool:
        """One registered tool, whoever may use it.

        Raises:
            ToolNotFoundError: There is none of that name; near matches are named.
        """
        return self._registry.get(name)

    def search_all(self, words: str, *, limit: int = 10) -> list[Tool]:
        """The tools that fit the words best among all of them, whoever may use them."""
        return list(self._registry.snapshot.search(words, limit=limit))

    async def attempts(
        self, *, state: AttemptState | None = None, key: str | None = None, limit: int | None = None
    ) -> list[Attempt]:
        """Rows of the ledger, oldest first; with `key`, those of every agent and session that used it."""
        store = self._open().parts.store
        await store.flush()
        rows = await store.scan(lambda reader: reader.attempts(state=state, limit=None if key else limit))
        return [row for row in rows if row.key.key == key][:limit] if key else rows
