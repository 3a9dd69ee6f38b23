"""Noting what a successful call read or wrote: after the call, which does not wait for it, in the order of calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

from callgate.pipeline.sources_read import sources_read

if TYPE_CHECKING:
    from collections.abc import Callable

    from callgate.model.outcome import Succeeded
    from callgate.pipeline.parts import Parts, Sources
    from callgate.pipeline.permit import Permit
    from callgate.pipeline.reading_order import Place
    from callgate.ports import Transaction

_NOTED_AT_ONCE = 500
"""Sources; a unit of many thousands would keep others waiting."""


def note_later(parts: Parts, permit: Permit, outcome: Succeeded) -> None:
    """Ask a tool that declares it what the call read, and note it, when there is time."""
    context = permit.context
    project = str(permit.arguments.get("project_id") or "default")
    place = parts.reading_order.take((context.user or context.principal, project))
    parts.background(_note(parts, permit, outcome, project=project, place=place, at=parts.clock.now()))


async def _note(parts: Parts, permit: Permit, outcome: Succeeded, *, project: str, place: Place, at: float) -> None:
    def unit(some: Sources, *, in_order: bool) -> Callable[[Transaction], bool]:
        def note(tx: Transaction) -> bool:
            return all(
                watch(tx, permit.tool, some, permit.context, project=project, at=at, in_order=in_order)
                for watch in parts.watches
            )

        return note

    try:
        sources = await sources_read(parts, permit, outcome)
        for first in range(0, len(sources), _NOTED_AT_ONCE):
            some = sources[first : first + _NOTED_AT_ONCE]
            if not await parts.store.write(unit(some, in_order=place.is_first)):
                await place.be_first()
                await parts.store.write(unit(some, in_order=True))
    finally:
        parts.reading_order.give_up(place)
