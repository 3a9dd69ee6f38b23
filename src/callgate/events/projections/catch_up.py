"""Catching up: brings projections to the present when somebody looks, in units of bounded size."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from callgate.events.projections.approvals import APPROVALS
from callgate.events.projections.calls import CALLS
from callgate.events.projections.health import HEALTH
from callgate.events.projections.projection import Entry, Projection
from callgate.events.projections.usage import USAGE
from callgate.model.event import Event
from callgate.ports import Reader, Store, Transaction

PROJECTIONS: Mapping[str, Projection] = MappingProxyType(
    {projection.name: projection for projection in (CALLS, APPROVALS, HEALTH, USAGE)}
)
_UNIT = 500


async def refresh(store: Store, name: str) -> None:
    """Bring a projection to the present.

    Raises:
        KeyError: There is no such projection.
        StoreUnavailable: The store takes nothing.
    """
    projection = PROJECTIONS[name]
    await store.flush()
    # Looking first costs a read; writing only to find out that nothing is new would cost a commit.
    while not await store.read(lambda reader: is_current(reader, projection)):
        await store.write(lambda tx: catch_up(tx, projection))


async def rebuild(store: Store, name: str) -> None:
    """Throw a projection away and make it again.

    Raises:
        KeyError: There is no such projection.
        StoreUnavailable: The store takes nothing.
    """
    projection = PROJECTIONS[name]
    await store.write(lambda tx: forget(tx, (projection,)))
    await refresh(store, name)


def is_current(reader: Reader, projection: Projection) -> bool:
    """Whether every event is taken in."""
    after = _position(reader, projection)
    return after is not None and not reader.events(after=after, limit=1)


def catch_up(tx: Transaction, projection: Projection, *, size: int = _UNIT) -> None:
    """Take in the next events."""
    after = _position(tx, projection)
    if after is None:
        forget(tx, (projection,))
        after = 0
    events = tx.events(after=after, limit=size)
    if events:
        for key, entry in _fold(tx, projection, events=events).items():
            tx.put_projection(projection.name, key, entry)
        _go_to(tx, projection, position=events[-1].position)


def forget(tx: Transaction, projections: Iterable[Projection] = tuple(PROJECTIONS.values())) -> None:
    """Throw projections away; the next look makes them again."""
    for projection in projections:
        tx.clear_projection(projection.name)
        _go_to(tx, projection, position=0)


def _fold(reader: Reader, projection: Projection, *, events: Sequence[Event]) -> dict[str, Entry]:
    entries: dict[str, Entry] = {}
    for event in events:
        key = projection.key(event) if event.type in projection.types else None
        if key is not None:
            before = entries[key] if key in entries else reader.projection(projection.name, key)
            entries[key] = projection.apply(before, event)
    return entries


def _position(reader: Reader, projection: Projection) -> int | None:
    """How far it has come; None if what is there was made in another way."""
    noted = reader.meta(_meta(projection)) or ""
    version, _, position = noted.partition(":")
    return int(position) if version == str(projection.version) and position.isdecimal() else None


def _go_to(tx: Transaction, projection: Projection, *, position: int) -> None:
    tx.put_meta(_meta(projection), f"{projection.version}:{position}")


def _meta(projection: Projection) -> str:
    return f"projection.{projection.name}"
