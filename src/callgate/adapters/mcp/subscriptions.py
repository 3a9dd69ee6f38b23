"""Which resources of a server are listened for, and of which the server is to tell. Judges nothing.

Who listens holds a resource; the server is asked to tell of it by a call that the gate let through, and asked to stop
when nobody holds it any more. So what was never let through is never asked for, however often it is held.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING

from callgate.adapters.mcp.answered import answered
from callgate.adapters.mcp.following import Following
from callgate.errors import NoEffect, ToolExecutionError
from callgate.model.visible import brief

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
        self._missed = missed
        self._following = Following(client, missed=missed, told=self._told)
        self._held: Counter[str] = Counter()
        self._made: set[str] = set()
        self._refused: set[str] = set()
        """Of which the server, asked once more, does not tell for now."""
        self._turn = asyncio.Lock()

    def hold(self, uri: str) -> None:
        """Somebody listens for this resource, or is about to."""
        self._held[uri] += 1

    def is_made(self, uri: str) -> bool:
        """Whether the server is to tell when this resource changes."""
        return uri in self._made and uri not in self._refused

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
            if self.is_made(uri):
                return
            is_new = uri not in self._made
            self._made.add(uri)
            try:
                await self._ask("SubscribeRequest", uri, patience=patience)
            except BaseException:
                if is_new:
                    self._made.discard(uri)
                raise
            self._refused.discard(uri)

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
                self._refused.discard(uri)
                try:
                    await self._ask("UnsubscribeRequest", uri, patience=patience)
                except (ToolExecutionError, ConnectionError) as error:
                    _log.debug("a server goes on telling of a resource: %s", type(error).__name__)

    async def resume(self, patience: float) -> None:
        """Ask for them again, in a new session. What the server refuses now is not made, until it is asked again.

        Raises:
            ConnectionError: The server cannot be reached.
        """
        for uri in tuple(self._made):
            asked = frozenset({uri})
            try:
                await self._ask("SubscribeRequest", uri, patience=patience)
            except ToolExecutionError as error:
                _log.debug("a server tells of a resource no more: %s", type(error).__name__)
                self._told(asked, frozenset())
            else:
                self._told(asked, asked)

    async def close(self) -> None:
        """Follow nothing any more."""
        await self._following.close()

    def _told(self, asked: frozenset[str], honored: frozenset[str]) -> None:
        """The server said of which of these it tells. Who listened for another is to look at it once more."""
        lost = (asked & self._made) - honored - self._refused
        self._refused = (self._refused | lost) - honored
        for uri in lost:
            self._missed(uri)

    async def _ask(self, kind: str, uri: str, *, patience: float) -> None:
        import mcp_types  # noqa: PLC0415 - the SDK is loaded by now
        from mcp_types.version import MODERN_PROTOCOL_VERSIONS  # noqa: PLC0415 - as above

        client = await self._client(patience)
        if client.protocol_version in MODERN_PROTOCOL_VERSIONS:
            await self._follow(uri, patience)
            return
        request = getattr(mcp_types, kind)(params={"uri": uri})
        await answered(asyncio.wait_for(client.session.send_request(request, mcp_types.EmptyResult), patience))

    async def _follow(self, uri: str, patience: float) -> None:
        """Such a server is listened to, and not subscribed at: what all follow is named with each request."""
        try:
            missing = await answered(self._following.follow(lambda: frozenset(self._made), patience, needed=uri))
        except ToolExecutionError as error:
            if error.__cause__ is None or self._made <= {uri}:
                raise
            # What the server says of it may name what only others may read.
            raise ToolExecutionError("the server does not tell of this resource beside those followed now") from None
        if uri in missing:
            raise ToolExecutionError(f"the server does not tell of changes of {brief(uri)!r}")
