"""Waiting for what nobody tells of, and not for ever."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

WITHIN = 30.0


async def until(condition: Callable[[], object]) -> None:
    """Wait until it holds, looking from time to time."""
    async with asyncio.timeout(WITHIN):
        while not condition():  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.002)  # between two looks
