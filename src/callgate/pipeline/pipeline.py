"""The way of a call: eight steps, in this order, for every call there is.

The order is a security property. Nothing here can be inserted, skipped or reordered by configuration; user middleware
nests around the whole.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from callgate.errors import StoreError
from callgate.pipeline.authorize import authorize
from callgate.pipeline.claim import claim
from callgate.pipeline.execute import execute
from callgate.pipeline.gate import gate
from callgate.pipeline.recall import recall
from callgate.pipeline.record import record
from callgate.pipeline.resolve import resolve
from callgate.pipeline.settle import settle
from callgate.pipeline.stopped import Stopped
from callgate.pipeline.validate import validate

if TYPE_CHECKING:
    from callgate.model.outcome import Outcome
    from callgate.pipeline.parts import Asked, Parts
    from callgate.pipeline.permit import Permit


async def run(parts: Parts, asked: Asked) -> Outcome:
    """Bring one call to its outcome."""
    try:
        permit = await permit_or_stop(parts, asked)
    except (Stopped, StoreError) as stop:
        return await record(parts, asked, stop)

    executed = await execute(parts, permit)  # 7
    outcome = await settle(parts, executed)  # 8
    if executed.cancelled:
        raise asyncio.CancelledError
    return outcome


async def permit_or_stop(parts: Parts, asked: Asked) -> Permit:
    """Steps 1 to 6: a permit, or the reason there is none.

    Raises:
        Stopped: The call ends here, with its outcome.
        StoreError: The store failed before anything happened.
    """
    resolved = resolve(parts, asked)  # 1
    valid = validate(parts, resolved)  # 2
    authorized = await authorize(parts, valid)  # 3
    recalled = await recall(parts, authorized)  # 4
    passed = await gate(parts, recalled)  # 5
    return await claim(parts, passed)  # 6
