"""Reviewing: the face of a gate that looks back. What the events add up to, and the record packed for others."""

from __future__ import annotations

from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from callgate.events import projections
from callgate.events.erasure import erasable, erase_selected
from callgate.events.json_lines import export_jsonl
from callgate.events.selection import Selection
from callgate.model.person import named
from callgate.runtime.recorded_calls import RecordedCalls

if TYPE_CHECKING:
    from callgate.model.event import Event
    from callgate.ports import Reader, Store


class Reviewing(RecordedCalls):
    """What was recorded, looked at from afterwards.

    Where a method takes filters, these are `types` (names or globs), `trace_id`, `call_id`, `since` and `until`
    (seconds since the epoch); all that are given must hold.
    """

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

    async def export_evidence(self, destination: str | Path, **filters: Any) -> dict[str, Any]:
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
                Path(destination),
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

    async def erasable(self, **filters: Any) -> tuple[int, int]:
        """How many of the events that fit have content to erase, and of how many calls they tell."""
        selection, store = _selection(**filters), await self._flushed()
        return await store.scan(lambda reader: erasable(reader, selection))

    async def erase(self, *, by: str, why: str, **filters: Any) -> int:
        """Forget the payloads of the events that fit, for good; how many there were. That it was done is recorded.

        The chain still verifies. Sealed arguments, the ledger and approvals are not touched. A question that is still
        open is void when events about it are gone.

        Raises:
            ValueError: Nobody is named, or no reason.
            ConfigurationError: Who does it is no text.
        """
        parts = self._open().parts
        return await erase_selected(parts.store, _selection(**filters), by=named(by), why=why, clock=parts.clock)

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


def _newest(reader: Reader, selection: Selection, limit: int) -> list[Event]:
    after = max(0, reader.last_position() - limit) if selection.everything else 0
    kept: deque[Event] = deque(maxlen=limit)
    for page in selection.pages(reader, after=after):
        kept.extend(page)
    return list(kept)
