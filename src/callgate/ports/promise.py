"""Promise: the future of a unit of work that is on its way and cannot be taken back. Knows no store."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import concurrent.futures

T = TypeVar("T")


class Promise(asyncio.Future[T]):
    """A future that nobody cancels: whoever lets go of it is told so once it is done, and can still read it."""

    def cancel(self, msg: Any | None = None) -> bool:  # noqa: ARG002 - the signature is asyncio's
        """Refuse: the unit runs all the same."""
        return False


def promised(work: Coroutine[Any, Any, T], home: asyncio.AbstractEventLoop | None = None) -> Promise[T]:
    """The promise, on the running loop, of what is done at home: the end of this loop does not end it."""
    here = asyncio.get_running_loop()
    promise: Promise[T] = Promise(loop=here)

    def tell(done: concurrent.futures.Future[T]) -> None:
        with suppress(RuntimeError):  # this loop has ended, and nobody waits
            here.call_soon_threadsafe(partial(_hand_over, promise, done))

    asyncio.run_coroutine_threadsafe(work, home or here).add_done_callback(tell)
    return promise


def _hand_over(promise: Promise[T], done: concurrent.futures.Future[T]) -> None:
    error = asyncio.CancelledError() if done.cancelled() else done.exception()
    if error is not None:
        promise.set_exception(error)
    else:
        promise.set_result(done.result())
