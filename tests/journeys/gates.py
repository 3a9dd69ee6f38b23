"""The same journey on every store: a test module asks for gates here, and runs once per store."""

from __future__ import annotations

import asyncio
from typing import Any

from callgate import Callgate
from callgate.events.staleness import content_hash
from callgate.pipeline.parts import Parts
from callgate.testing import memory_gate

_where = {"url": "memory://"}


def use(url: str) -> None:
    """Open the gates of this test on that store."""
    _where["url"] = url


def gate_of(*tools: Any, **options: Any) -> Callgate:
    """An unopened gate with these tools, on the store whose turn it is."""
    return memory_gate(*tools, store=options.pop("store", _where["url"]), **options)


def parts_of(gate: Callgate) -> Parts:
    """What an open gate is made of, for journeys that look at the store itself or make it fail."""
    return gate._open().parts  # pyright: ignore[reportPrivateUsage]


async def noted(gate: Callgate, path: str, *, text: str, user: str = "agent") -> None:
    """Wait until it is noted that this was read: that comes after the call, which does not wait for it."""
    store = parts_of(gate).store
    async with asyncio.timeout(30):
        while True:
            last = await store.read(lambda reader: reader.reading(user, "default", path))
            if last is not None and last.digest == content_hash(text):
                return
            await asyncio.sleep(0.002)  # nobody tells of a note
