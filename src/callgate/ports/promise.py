"""Promise: the future of a unit of work that is on its way and cannot be taken back. Knows no store."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class Promise(asyncio.Future[T]):
    """A future that nobody cancels: whoever lets go of it is told so once it is done, and can still read it."""

    def cancel(self, msg: Any | None = None) -> bool:  # noqa: ARG002 - the signature is asyncio's
        """Refuse: the unit runs all the same."""
        return False


def promised(work: Coroutine[Any, Any, T]) -> Promise[T]:
    """The promise of a coroutine's result, on the running loop."""
    loop = asyncio.get_running_loop()
    promise: Promise[T] = Promise(loop=loop)

    def hand_over(task: asyncio.Task[T]) -> None:
        if task.cancelled():
            promise.set_exception(asyncio.CancelledError())
        elif (error := task.exception()) is not None:
            promise.set_exception(error)
        else:
            promise.set_result(task.result())

    loop.create_task(work).add_done_callback(hand_over)
    return promise
