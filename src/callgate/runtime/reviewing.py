"""Reviewing: the face of a gate that looks back. What the events add up to, and the record packed for others."""

from __future__ import annotations

from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from callgate.events import projections
from callgate.events.erasure import erase_selected
from callgate.events.invocations import invocation
from callgate.events.journal import export_jsonl
from callgate.events.selection import Selection
from callgate.runtime.enough import enough
from callgate.runtime.opened import Face

if TYPE_CHECKING:
    from callgate.model.event import Event
    from callgate.ports import Reader, Store


class Reviewing(Face):
    """What was recorded, looked at from afterwards.

    Where a method takes filters, these are `types` (names or globs), `trace_id`, `call_id`, `since` and `until`
    (seconds since the epoch); all that are given must hold.
    """

    async def calls(
        self, *, limit: int | None = None, earlier_than: str | None = None, **equal: str
    ) -> list[dict[str, Any]]:
        """One entry per call, oldest first: who called what and how it ended; `equal` are fields and their values.

        With `limit`, the newest so many; with `earlier_than`, only those that were asked before the call of that id.
        """
        store = self._open().parts.store
        await projections.refresh(store, "calls")
        found = await store.scan(
            lambda reader: _newest_entries(reader, "calls", equal=equal, limit=limit, below=earlier_than)
        )
        return sorted(found, key=lambda entry: entry["asked_at"])

    async def invocation(self, call_id: str) -> dict[str, Any] | None:
        """One call as an invocation log has it; None if no call of that id began, was refused or waits for a person.

        It has `call`, `time`, `tool`, `args`, `role`, `status` (as `calls()` has it), `success` (None while it runs or
        waits, and where nobody knows), `result`, `error`, `elapsed_ms`, `caller_type`, `chain_id` and `chain_index`.
        """
        store = await self._flushed()
        return await store.scan(lambda reader: invocation(reader, call_id))

    async def usage(self) -> list[dict[str, Any]]:
        """One entry per day and tool: how many calls, how they ended, how long they took."""
        return await self._entries("usage")

    async def healths(self) -> list[dict[str, Any]]:
        """One entry per connector that was ever in trouble, as it was last recorded, by whichever process."""
        return await self._entries("health")

    async def newest_events(self, limit: int, **filters: Any) -> list[Event]:
        """The newest events that fit, oldest first."""
        selection, store = _selection(**filters), await self._flushed()
        return await store.scan(lambda reader: _newest(reader, selection, limit))

    async def export_events(self, out: BinaryIO, **filters: Any) -> int:
        """Write the events that fit as JSON lines; how many there were."""
        selection, store = _selection(**filters), await self._flushed()
        return await store.scan(lambda reader: export_jsonl(reader, out, selection=selection))

    async def export_evidence(self, destination: Path, **filters: Any) -> dict[str, Any]:
        """Pack the events that fit so that anyone can verify them without this store; the manifest.

        Raises:
            ConfigurationError: There is something at the destination already.
        """
        from callgate.events.evidence import export  # noqa: PLC0415 - zip, tar and signatures, which no call needs

        opened = self._open()
        selection, store, parts = _selection(**filters), await self._flushed(), opened.parts
        keys = await opened.auditor.public_keys()

        def unit(reader: Reader) -> dict[str, Any]:
            now = parts.clock.now()
            return export(
                reader,
                destination,
                store_id=store.store_id,
                public_keys=keys,
                now=now,
                selection=selection,
                signer=parts.keys,
            )

        return await store.scan(unit)

    async def rebuild(self) -> tuple[str, ...]:
        """Make everything that is worked out from the events again; the names of it."""
        store = await self._flushed()
        for name in projections.PROJECTIONS:
            await projections.rebuild(store, name)
        return tuple(projections.PROJECTIONS)

    async def erase(self, *, by: str, why: str, **filters: Any) -> int:
        """Forget the payloads of the events that fit, for good; how many there were. That it was done is recorded.

        The chain still verifies. Sealed arguments, the ledger and approvals are not touched.

        Raises:
            ValueError: Nobody is named, or no reason.
        """
        parts = self._open().parts
        return await erase_selected(parts.store, _selection(**filters), by=by, why=why, clock=parts.clock)

    async def _entries(self, name: str) -> list[dict[str, Any]]:
        store = self._open().parts.store
        await projections.refresh(store, name)
        return await store.scan(lambda reader: reader.projections(name))

    async def _flushed(self) -> Store:
        store = self._open().parts.store
        await store.flush()
        return store


def _selection(
    *,
    types: tuple[str, ...] = (),
    trace_id: str | None = None,
    call_id: str | None = None,
    since: float | None = None,
    until: float | None = None,
) -> Selection:
    return Selection(types=types or None, trace=trace_id, call=call_id, since=since, until=until)


def _newest_entries(
    reader: Reader, name: str, *, equal: dict[str, str], limit: int | None, below: str | None
) -> list[dict[str, Any]]:
    """The newest entries that fit; of a long projection no more is read than needed to find so many."""

    def keep(entry: dict[str, Any]) -> dict[str, Any] | None:
        return entry if all(entry.get(field) == value for field, value in equal.items()) else None

    def read(size: int | None) -> list[dict[str, Any]]:
        return reader.projections(name, limit=size, newest_first=True, below=below)

    return enough(read, keep=keep, limit=limit)


def _newest(reader: Reader, selection: Selection, limit: int) -> list[Event]:
    after = max(0, _last_position(reader) - limit) if selection.everything else 0
    kept: deque[Event] = deque(maxlen=limit)
    for page in selection.pages(reader, after=after):
        kept.extend(page)
    return list(kept)


def _last_position(reader: Reader) -> int:
    """Where the record ends, found by halving; reading all of a long one would take long."""
    low, high = 0, 1
    while reader.events(after=high, limit=1):
        low, high = high, high * 2
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if reader.events(after=middle, limit=1) else (low, middle)
    return low
