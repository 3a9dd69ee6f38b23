"""Shield: work that ends well whatever happens to whoever waits for it, and that ends nothing else. Knows no calls."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


async def landed(work: asyncio.Future[Any]) -> bool:
    """Wait until work that cannot be cancelled has ended, well or not; whether the caller was cancelled meanwhile."""
    # Python 3.11 traces nothing of what those who await this do after a cancellation that is caught here, so that they
    # leave it out of coverage; tests/crash/test_letting_go.py has it run.
    cancelled = False
    while not work.done():
        try:
            await work
        except asyncio.CancelledError:
            cancelled = True
        except Exception:  # noqa: BLE001, S110 - whoever asks for the result is told
            pass
    return cancelled


async def written(work: asyncio.Future[T]) -> tuple[T, bool]:
    """What came of a unit that the store was given, and whether the caller let go meanwhile.

    Raises:
        CancelledError: The caller let go, and it was not written.
        Exception: It was not written.
    """
    let_go = await landed(work)
    if let_go and work.exception() is not None:  # pragma: no cover - see `landed`
        raise asyncio.CancelledError
    return work.result(), let_go


async def finish(work: Coroutine[Any, Any, T]) -> tuple[T, bool]:
    """Finish the work; its result, and whether the caller was cancelled meanwhile."""
    task = asyncio.ensure_future(work)
    cancelled = False
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            cancelled = True
    return task.result(), cancelled


class Bell(asyncio.Future[None]):
    """What somebody waits for who must not be kept waiting: rung by whatever comes first, and once."""

    def ring(self, _what: object = None) -> None:
        """Wake who waits; a loop that has ended has nobody to wake."""
        if not self.done() and not self.get_loop().is_closed():
            self.set_result(None)


def _nothing() -> None:
    """Nobody wants to know."""


async def contained(work: Awaitable[T], ended: Callable[[], object] = _nothing) -> T:
    """A function that raises more than an exception ends its own call: out of its own task, it would end the loop.

    Args:
        work: The function at work.
        ended: Called in the step in which it ends, whichever way.

    Raises:
        RuntimeError: Naming what it raised instead of an exception.
        Exception: Whatever else it raises.
    """
    try:
        return await work
    except (Exception, asyncio.CancelledError, GeneratorExit):
        raise
    except BaseException as error:
        message = f"the handler raised {type(error).__name__}"
        raise RuntimeError(message) from error
    finally:
        ended()
