"""Following the record: what fits is told as it comes."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

from callgate.cli.document import print_document
from callgate.cli.event_text import event_document, tell_event
from callgate.cli.ids import whole
from callgate.cli.opening import Need, gate_of
from callgate.cli.place import Place
from callgate.cli.screen import Screen
from callgate.model.event import Event


def follow_events(place: Place, filters: dict[str, Any], *, options: dict[str, Any]) -> None:
    """Tell the newest events that fit, and then each that comes, whichever process records it, until Ctrl-C."""
    screen = Screen(sys.stdout)

    def tell(event: Event) -> None:
        if options["as_json"]:
            print_document(event_document(event), indented=False)
        else:
            tell_event(screen, event)

    async def following() -> None:
        async with gate_of(place, need=Need.LOOK) as gate:
            last = 0
            meant = await whole(gate, filters)
            for event in await gate.newest_events(options["limit"], **meant):
                tell(event)
                last = event.position
            wanted = {name: value for name, value in meant.items() if name in {"types", "trace_id", "call_id"}}
            async for event in gate.events(after=last, follow=True, **wanted):
                tell(event)

    try:
        asyncio.run(following())
    except KeyboardInterrupt:
        Screen(sys.stderr).say("stopped following")
