"""Following resources of a server of 2026-07-28: it tells of changes only on a stream that names what is followed.

One stream names all of them. Where others are wanted, the next one is opened before the last is left. What is heard
comes to who hears everything that the server says; here only the streams are kept.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mcp import Client

_log = logging.getLogger("callgate.mcp")
_PATIENCE = 10.0
_AGAIN = 1.0
"""Seconds before a stream that ended is opened again."""


class Following:
    """The stream that names what is followed at one server.

    Args:
        client: Gives the session, waited for so many seconds.
        missed: Told of each resource that may have changed while nobody listened.
        told: Told what a stream named, and of which of these the server tells on it.
    """

    def __init__(
        self,
        client: Callable[[float], Awaitable[Client]],
        *,
        missed: Callable[[str], None],
        told: Callable[[frozenset[str], frozenset[str]], None],
    ) -> None:
        self._client = client
        self._missed = missed
        self._told = told
        self._task: asyncio.Task[None] | None = None
        self._turn = asyncio.Lock()

    async def follow(self, wanted: Callable[[], frozenset[str]], patience: float, *, needed: str) -> frozenset[str]:
        """Follow these from now on, and no others; none is the end of it.

        Returns:
            Of which the server does not tell. Where `needed` is among them, what was followed before still is.

        Raises:
            MCPError: It refuses.
            TimeoutError: It does not answer in time.
        """
        async with self._turn:
            uris = wanted()
            begun, honored = await self._begun(uris, patience) if uris else (None, uris)
            missing = uris - honored
            if needed in missing:
                await _ended(begun)
                return missing
            self._told(uris, honored)
            last, self._task = self._task, begun
            await _ended(last)
            return missing

    async def close(self) -> None:
        """Leave."""
        last, self._task = self._task, None
        await _ended(last)

    async def _begun(self, uris: frozenset[str], patience: float) -> tuple[asyncio.Task[None], frozenset[str]]:
        """A stream that names these, and of which of them the server tells."""
        told: asyncio.Future[frozenset[str]] = asyncio.get_running_loop().create_future()
        task = asyncio.ensure_future(self._keep(uris, told))
        try:
            async with asyncio.timeout(patience):
                return task, await told
        except BaseException:
            await _ended(task)
            raise

    async def _keep(self, uris: frozenset[str], told: asyncio.Future[frozenset[str]]) -> None:
        while True:
            try:
                await self._listen(uris, told)
            except Exception as error:  # noqa: BLE001 - the first is told; later ones are tried again
                if not told.done():
                    told.set_exception(error)
                    return
                _log.debug("following resources ended: %s", type(error).__name__)
            await asyncio.sleep(_AGAIN)

    async def _listen(self, uris: frozenset[str], told: asyncio.Future[frozenset[str]]) -> None:
        """Listen until the stream ends."""
        client = await self._client(_PATIENCE)
        async with client.listen(resource_subscriptions=sorted(uris)) as changes:
            honored = frozenset(changes.honored.resource_subscriptions or ())
            if not told.done():
                told.set_result(honored)
            else:
                self._told(uris, honored)
                for uri in uris & honored:
                    self._missed(uri)
            async for _ in changes:
                pass


async def _ended(task: asyncio.Task[None] | None) -> None:
    if task is not None:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
