"""Administration: the face of a gate that operators use. Looks at everything, decides nothing about a call."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from callgate.errors import ToolNotFoundError
from callgate.model.attempt import AttemptKey
from callgate.pipeline.stored_outcome import read_outcome
from callgate.runtime.builtin import as_not_enabled
from callgate.runtime.opened import Face

if TYPE_CHECKING:
    from callgate.model.attempt import Attempt, AttemptState
    from callgate.model.outcome import Outcome
    from callgate.model.tool import Tool
    from callgate.ports import Reader
    from callgate.registry.registry import Registry


class Administration(Face):
    """What an operator asks of a gate."""

    _registry: Registry

    def tool(self, name: str) -> Tool:
        """One registered tool, whoever may use it.

        Raises:
            ToolNotFoundError: There is none of that name; near matches are named, and how to enable a built-in one.
        """
        try:
            return self._registry.get(name)
        except ToolNotFoundError as error:
            raise as_not_enabled(error, name) from None

    def search_all(self, words: str, *, limit: int = 10) -> list[Tool]:
        """The tools that fit the words best among all of them, whoever may use them."""
        return list(self._registry.snapshot.search(words, limit=limit))

    def roles(self) -> tuple[str, ...]:
        """The roles that the configuration knows; without any, the role `default`."""
        return self._open().parts.settings.role_names

    def protect(self, *paths: str | os.PathLike[str]) -> None:
        """Put files and folders out of reach of every tool for as long as the gate is open, as Callgate's own are."""
        self._open().parts.policy.resources.protect([os.fspath(path) for path in paths])

    def protected(self) -> tuple[str, ...]:
        """The files and folders that no tool may touch: Callgate's own and those of `protect`, there or not."""
        return self._open().parts.policy.resources.protect(())

    async def attempts(
        self,
        *,
        state: AttemptState | None = None,
        key: str | None = None,
        principal: str | None = None,
        session: str | None = None,
        limit: int | None = None,
        newest_first: bool = False,
        behind: str | None = None,
    ) -> list[Attempt]:
        """Rows of the ledger, oldest first unless told; with `key`, those of every agent and session that used it.

        `principal` and `session` say whose, where only theirs are meant; with `behind`, only what comes after the row
        of the call of that id.
        """
        wanted = {"key": key, "principal": principal, "session": session}
        wanted = {name: value for name, value in wanted.items() if value is not None}

        def unit(reader: Reader) -> list[Attempt]:
            if len(wanted) == len(AttemptKey._fields):
                row = reader.attempt(AttemptKey(**wanted))
                rows = [] if row is None else [row]
            else:
                most = None if wanted else limit
                rows = reader.attempts(state=state, behind=behind, limit=most, newest_first=newest_first)
            return [row for row in rows if _fits(row, state, wanted)][:limit]

        store = self._open().parts.store
        await store.flush()
        return await store.scan(unit)

    async def attempt_of_call(self, call_id: str) -> Attempt | None:
        """The ledger's row whose latest call has this id."""
        store = self._open().parts.store
        await store.flush()
        return await store.read(lambda reader: reader.attempt_of_call(call_id))

    async def outcome_of_call(self, call_id: str) -> Outcome | None:
        """What the ledger says of a call by its id; Refused in_flight while it runs, None if it has no row."""
        row = await self.attempt_of_call(call_id)
        return None if row is None else read_outcome(row)


def _fits(row: Attempt, state: AttemptState | None, wanted: dict[str, str]) -> bool:
    return state in {None, row.state} and wanted.items() <= row.key._asdict().items()
