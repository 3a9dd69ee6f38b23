"""Recorded calls: who called what and how it ended, found by the store without reading the others."""

from __future__ import annotations

from typing import Any

from callgate.events import projections
from callgate.events.invocations import invocation
from callgate.events.projections.calls import FIELDS
from callgate.runtime.opened import Face

_DAY = 86_400.0


class RecordedCalls(Face):
    """Calls, looked at from afterwards."""

    async def calls(
        self, *, limit: int | None = None, skip: int = 0, earlier_than: str | None = None, **equal: str
    ) -> list[dict[str, Any]]:
        """One entry per call, oldest first: who called what and how it ended; `equal` are fields and their values.

        With `limit`, the newest so many, behind the `skip` newest; with `earlier_than`, only those that were asked
        before the call of that id.

        Raises:
            TypeError: No entry has such a field.
        """
        unknown = sorted(set(equal) - FIELDS)
        if unknown:
            raise TypeError(f"calls() knows no field {unknown[0]!r}; an entry has {', '.join(sorted(FIELDS))}")
        store = self._open().parts.store
        await projections.refresh(store, "calls")
        found = await store.scan(
            lambda reader: reader.projections(
                "calls", equal=equal, limit=limit, skip=skip, below=earlier_than, newest_first=True
            )
        )
        return sorted(found, key=lambda entry: entry["asked_at"])

    async def call_entry(self, call_id: str) -> dict[str, Any] | None:
        """One entry of `calls()`: who called what and how it stands; None if no call of that id was recorded."""
        store = self._open().parts.store
        await projections.refresh(store, "calls")
        return await store.read(lambda reader: reader.projection("calls", call_id))

    async def calls_since(
        self, since: float, *, until: float | None = None, limit: int | None = None
    ) -> list[dict[str, Any]]:
        """As `calls()`, those that were asked in that time, oldest first; with `limit`, the newest so many of them."""
        store = self._open().parts.store
        await projections.refresh(store, "calls")
        found = await store.scan(lambda reader: reader.projections_since("calls", since, until=until, limit=limit))
        return found[::-1]

    async def call_count(self, *, since: float) -> int:
        """How many calls were asked since then, as the store counts them: none of them is read."""
        store = self._open().parts.store
        await projections.refresh(store, "calls")
        counts = await store.scan(lambda reader: reader.counts("calls", since=since, stretch=_DAY))
        return sum(each.entries for each in counts)

    async def invocation(self, call_id: str) -> dict[str, Any] | None:
        """One call as an invocation log has it; None if no call of that id began, was refused or waits for a person.

        It has `call`, `time`, `tool`, `args`, `role`, `status` (as `calls()` has it), `success` (None while it runs or
        waits, and where nobody knows), `result`, `error`, `elapsed_ms`, `caller_type`, `chain_id` and `chain_index`.
        """
        store = self._open().parts.store
        await store.flush()
        return await store.scan(lambda reader: invocation(reader, call_id))
