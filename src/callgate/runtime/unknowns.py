"""Unknowns: outcomes nobody knows yet, and how they come to be known. Never by an agent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from callgate.approvals.decide import Decider
from callgate.errors import OutcomeNotFound
from callgate.model.attempt import Attempt, AttemptKey
from callgate.model.levels import Assurance
from callgate.model.person import named
from callgate.pipeline import resolution
from callgate.runtime.opened import Face

if TYPE_CHECKING:
    from callgate.model.context import Context
    from callgate.model.outcome import Outcome


class OpenCounts(NamedTuple):
    """How much waits for people."""

    pending: int
    """Questions whose time is not up."""
    unknown: int
    """Outcomes that somebody has to look for."""


class Unknowns(Face):
    """Looking after what is not known."""

    async def unknown_outcomes(
        self, *, limit: int | None = None, newest_first: bool = False, behind: str | None = None
    ) -> list[Attempt]:
        """Every call whose effect somebody has to look for, oldest first unless told.

        Unknown outcomes, and failures that may have left something behind. With `behind`, only what comes after the
        call of that id in this order.
        """
        store = self._open().parts.store
        return await store.scan(
            lambda reader: reader.open_attempts(limit=limit, newest_first=newest_first, behind=behind)
        )

    async def open_counts(self) -> OpenCounts:
        """How many questions and outcomes wait for people, as the store counts them: none of them is read."""
        parts = self._open().parts
        now = parts.clock.now()
        return await parts.store.read(lambda reader: OpenCounts(reader.all_pending_count(now=now), reader.open_count()))

    async def resolve(
        self,
        key: str,
        context: Context | None = None,
        *,
        happened: bool,
        by: str,
        call_id: str | None = None,
        note: str = "",
        output: Any = None,
        assurance: Assurance = Assurance.ASSERTED,
    ) -> Outcome:
        """Say of an unknown outcome, or a failure that may have had an effect, whether it had one; *no* frees the key.

        Args:
            key: The key it ran under.
            context: Whose key; the gate's own context unless told.
            happened: What was found.
            by: The person who looked.
            call_id: The call that was looked at, as `unknown_outcomes` names it. Where several were made under the key
                it has to be said, and has to be the last: what was seen before it says nothing of it.
            note: How it was found out; recorded.
            output: What the call is to answer from now on.
            assurance: How well it is known who says so.

        Raises:
            OutcomeNotFound: The ledger has no such key.
            OutcomeConflict: There is nothing to resolve, it may still happen, the agent itself tried, or it is about
                another call than the last one under the key.
            ConfigurationError: Who looked is no text.
        """
        opened = self._open()
        who = context or opened.default_context
        row_key = AttemptKey(who.principal, who.session, key)
        decider = Decider(name=named(by), assurance=assurance)
        return await resolution.resolve_by_person(
            opened.parts, row_key, decider, happened=happened, call_id=call_id, note=note, output=output
        )

    async def verify_outcome(self, key: str, context: Context | None = None) -> str:
        """Ask the tool itself whether an unknown or possible effect happened: happened, absent, cannot_tell.

        Raises:
            OutcomeNotFound: The ledger has no such key.
        """
        opened = self._open()
        who = context or opened.default_context
        row = await opened.parts.store.read(lambda reader: reader.attempt(AttemptKey(who.principal, who.session, key)))
        if row is None:
            raise OutcomeNotFound(f"the ledger has no key {key} of {who.principal} in session {who.session}")
        return await resolution.verify(opened.parts, row)
