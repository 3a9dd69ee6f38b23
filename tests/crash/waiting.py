"""Bounded waiting for what another task or process does; nothing here assumes how long that takes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")
WITHIN = 30.0
"""Seconds after which a wait has failed; far longer than any wait takes."""
_LOOK_EVERY = 0.002


async def until(look: Callable[[], Awaitable[T]]) -> T:
    """The first answer that is true.

    Raises:
        TimeoutError: None came in time.
    """
    async with asyncio.timeout(WITHIN):
        while not (answer := await look()):  # noqa: ASYNC110 - what is waited for is in a store or in another process
            await asyncio.sleep(_LOOK_EVERY)
    return answer
