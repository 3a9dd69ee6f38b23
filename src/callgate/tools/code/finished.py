"""Finished: work that must come to its end before whoever began it goes on, however often that one is cancelled.

A second cancellation is nothing rare: a scope of anyio, as the MCP server has them, repeats its own until it is heeded.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def on_thread(work: Callable[[], T]) -> asyncio.Future[T]:
    """Begin it on a thread. It is no task: a loop that ends cancels all of these, and the thread would go on alone."""
    context = contextvars.copy_context()
    return asyncio.get_running_loop().run_in_executor(None, context.run, work)


async def finished(work: asyncio.Future[T]) -> T:
    """What came of the work, which has ended then. It takes as long as the work does: that has to have an end.

    Args:
        work: Begun already, and no task, nor made of any: a loop that ends cancels all of these.

    Raises:
        CancelledError: The caller was cancelled meanwhile, whatever came of it.
        Exception: As the work did.
    """
    cancelled: asyncio.CancelledError | None = None
    while not work.done():
        try:
            await asyncio.wait({work})
        except asyncio.CancelledError as error:
            cancelled = cancelled or error
    if cancelled is None:
        return work.result()
    if not work.cancelled():
        work.exception()  # seen, so that the loop does not complain that nobody has
    raise cancelled
