"""Ways to a loop from outside it: a portal with a loop of its own, a bridge to one that runs. Know nothing of gates."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from concurrent.futures import Future
from typing import Any, TypeVar

from callgate.ports.home import FORKED

T = TypeVar("T")
_PATIENCE = 10.0
"""Seconds a loop has to begin what it is handed, before whoever blocks for it is told that it does not run."""
_INHERITED = f"the gate is {FORKED}"


class Portal:
    """Runs coroutines on a loop of its own and waits for them."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._handing = threading.Lock()
        self._closed = False
        self._process = os.getpid()
        self._thread = threading.Thread(target=self._loop.run_forever, name="callgate-portal", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of a coroutine.

        Raises:
            RuntimeError: Called on the portal's own loop or in a forked process, where waiting would never end, or
                after `close`.
        """
        try:
            self.check_thread()
        except RuntimeError:
            work.close()
            raise
        with self._handing:
            # Whatever is handed over before `close` begins is cancelled by it; later there is nobody to answer.
            future = None if self._closed else asyncio.run_coroutine_threadsafe(work, self._loop)
        if future is None:
            work.close()
            message = "the gate is closed"
            raise RuntimeError(message)
        return _result(future)

    @property
    def inherited(self) -> bool:
        """Whether this is a forked process, which has nothing of the loop but a copy that stands still."""
        return os.getpid() != self._process

    def check_thread(self) -> None:
        """See that something can be waited for here.

        Raises:
            RuntimeError: It would never end.
        """
        if self.inherited:
            raise RuntimeError(_INHERITED)
        if threading.current_thread() is self._thread:
            message = "blocking calls are not possible on the portal's own thread; use the async gate there"
            raise RuntimeError(message)

    def iterate(self, source: AsyncIterator[T]) -> Iterator[T]:
        """A blocking view of an async iterator."""
        end = object()

        async def following() -> Any:
            return await anext(source, end)

        while (item := self.run(following())) is not end:
            yield item

    def close(self) -> None:
        """Stop the loop; what still runs on it is cancelled first. Twice is once."""
        with self._handing:
            if self._closed:
                return
            self._closed = True
            resting = asyncio.run_coroutine_threadsafe(self._cancel_rest(), self._loop)
        _result(resting)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _cancel_rest(self) -> None:
        rest = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in rest:
            task.cancel()
        await asyncio.gather(*rest, return_exceptions=True)
        await self._loop.shutdown_asyncgens()


def _result(future: Future[T]) -> T:
    try:
        return future.result()
    except KeyboardInterrupt:
        # The person pressed Ctrl-C: the call is cancelled and settled before the prompt comes back.
        future.cancel()
        raise


class Bridge:
    """Leads to a loop that somebody else runs, from any thread and any other loop.

    Args:
        loop: Where the work is done.
        patience: Seconds to wait for it to begin.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, *, patience: float = _PATIENCE) -> None:
        self._loop = loop
        self._patience = patience
        self._process = os.getpid()

    async def wait(self, make: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """The result of a coroutine, awaited on whatever loop this is.

        Raises:
            RuntimeError: The loop is closed.
        """
        if asyncio.get_running_loop() is self._loop:
            return await make()
        return await asyncio.wrap_future(self._hand_over(make()))

    def run(self, make: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """The result of a coroutine; blocks this thread.

        Raises:
            RuntimeError: Called on the loop's own thread, where waiting would never end; or the loop is closed, or so
                busy that nothing was begun.
        """
        if self._runs_here():
            message = "blocking here would stop the loop that the gate runs on; use the async form"
            raise RuntimeError(message)
        turn, begun = threading.Lock(), threading.Event()
        future = self._hand_over(_in_turn(make, turn=turn, begun=begun))
        try:
            # Whoever has the turn decides: once it is taken here, the work cannot begin any more.
            given_up = not begun.wait(self._patience) and turn.acquire(blocking=False)
            if not given_up:
                return future.result()
        except KeyboardInterrupt:
            future.cancel()
            raise
        message = "the gate's loop does not run, perhaps blocked by what waits for this; nothing was begun"
        raise RuntimeError(message)

    def _runs_here(self) -> bool:
        try:
            return asyncio.get_running_loop() is self._loop
        except RuntimeError:
            return False

    def _hand_over(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        if os.getpid() != self._process:
            work.close()
            raise RuntimeError(_INHERITED)
        try:
            return asyncio.run_coroutine_threadsafe(work, self._loop)
        except RuntimeError:
            work.close()
            message = "the gate is closed"
            raise RuntimeError(message) from None


async def _in_turn(make: Callable[[], Coroutine[Any, Any, T]], *, turn: threading.Lock, begun: threading.Event) -> T:
    if not turn.acquire(blocking=False):
        raise asyncio.CancelledError
    begun.set()
    return await make()
