"""Which resources of a server are listened for, and of which the server is to tell. Judges nothing.

Who listens holds a resource; the server is asked to tell of it by a call that the gate let through, and asked to stop
when nobody holds it any more. So what was never let through is never asked for, however often it is held.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING

from callgate.adapters.mcp.answered import answered
from callgate.adapters.mcp.following import Following
from callgate.errors import NoEffect, ToolExecutionError

if TYPE_CHECKING:
    from mcp import Client

_log = logging.getLogger("callgate.mcp")


class Subscriptions:
    """Those at one server, over its one session.

    Args:
        client: Gives the session, waited for so many seconds.
        missed: Told of each resource that may have changed while nobody listened.
    """

    def __init__(self, client: Callable[[float], Awaitable[Client]], *, missed: Callable[[str], None]) -> None:
        self._client = client
        self._following = Following(client, missed=missed)
        self._held: Counter[str] = Counter()
        self._made: set[str] = set()
        self._turn = asyncio.Lock()

    def hold(self, uri: str) -> None:
        """Somebody listens for this resource, or is about to."""
        self._held[uri] += 1

    def is_made(self, uri: str) -> bool:
        """Whether the server is to tell when this resource changes."""
        return uri in self._made

    async def make(self, uri: str, patience: float) -> None:
        """Have the server tell when this resource changes; twice is once.

        Raises:
            NoEffect: Nobody listens for it.
            ToolExecutionError: The server refuses.
            ConnectionError: It cannot be reached.
        """
        async with self._turn:
            if uri not in self._held:
                raise NoEffect("nobody listens for changes of this resource; clients subscribe to it over MCP")
            if uri in self._made:
                return
            self._made.add(uri)
            try:
                await self._ask("SubscribeRequest", uri, patience=patience)
            except BaseException:
                self._made.discard(uri)
                raise

    async def release(self, uris: Iterable[str], patience: float) -> None:
        """The opposite of `hold`, once for each. What nobody holds any more the server is not to tell of."""
        for uri in uris:
            self._held[uri] -= 1
            if self._held[uri] <= 0:
                del self._held[uri]
        async with self._turn:
            while left := self._made - self._held.keys():
                uri = left.pop()
                self._made.discard(uri)
                try:
                    await self._ask("UnsubscribeRequest", uri, patience=patience)
                except (ToolExecutionError, ConnectionError) as error:
                    _log.debug("a server goes on telling of a resource: %s", type(error).__name__)

    async def resume(self, patience: float) -> None:
        """Ask for them again, in a new session. What is gone by now is let be.

        Raises:
            ConnectionError: The server cannot be reached.
        """
        for uri in tuple(self._made):
            with contextlib.suppress(ToolExecutionError):
                await self._ask("SubscribeRequest", uri, patience=patience)

    async def close(self) -> None:
        """Follow nothing any more."""
        await self._following.close()

    async def _ask(self, kind: str, uri: str, *, patience: float) -> None:
        import mcp_types  # noqa: PLC0415 - the SDK is loaded by now
        from mcp_types.version import MODERN_PROTOCOL_VERSIONS  # noqa: PLC0415 - as above

        client = await self._client(patience)
        if client.protocol_version in MODERN_PROTOCOL_VERSIONS:
            # Such a server is listened to, and not subscribed at.
            await answered(self._following.follow(lambda: frozenset(self._made), patience))
            return
        request = getattr(mcp_types, kind)(params={"uri": uri})
        await answered(asyncio.wait_for(client.session.send_request(request, mcp_types.EmptyResult), patience))
