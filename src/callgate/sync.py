"""The blocking portal: one event loop on one thread, for code that cannot await. Knows nothing of gates."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Coroutine, Iterator
from typing import Any, TypeVar

T = TypeVar("T")


class Portal:
    """Runs coroutines on a loop of its own and waits for them."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="callgate-portal", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of a coroutine.

        Raises:
            RuntimeError: Called on the portal's own loop, where waiting would never end, or after `close`.
        """
        if threading.current_thread() is self._thread:
            work.close()
            message = "blocking calls are not possible on the portal's own thread; use the async gate there"
            raise RuntimeError(message)
        if self._loop.is_closed():
            work.close()
            message = "the gate is closed"
            raise RuntimeError(message)
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except KeyboardInterrupt:
            # The person pressed Ctrl-C: the call is cancelled and settled before the prompt comes back.
            future.cancel()
            raise

    def iterate(self, source: AsyncIterator[T]) -> Iterator[T]:
        """A blocking view of an async iterator."""
        end = object()

        async def following() -> Any:
            return await anext(source, end)

        while (item := self.run(following())) is not end:
            yield item

    def close(self) -> None:
        """Stop the loop; what still runs on it is cancelled first."""
        if self._loop.is_closed():
            return
        self.run(self._cancel_rest())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _cancel_rest(self) -> None:
        rest = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in rest:
            task.cancel()
        await asyncio.gather(*rest, return_exceptions=True)
        await self._loop.shutdown_asyncgens()
