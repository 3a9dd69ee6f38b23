"""The line to one client: what it is to hear, one thing at a time. Who does not read holds up nobody but themselves."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from mcp.server.subscriptions import ServerEvent

_log = logging.getLogger("callgate.mcp")
Tell = Callable[[ServerEvent], Awaitable[object]]


async def _always() -> bool:
    return True


class Line:
    """What a client has not been told yet is kept once, however often it happens: a client that reads again hears it.

    Args:
        tell: How the client is told; may take as long as the client likes.
        may_hear: Asked before each thing it is told.
        end: Called when it may not hear any more.
    """

    def __init__(
        self, tell: Tell, *, may_hear: Callable[[], Awaitable[bool]] = _always, end: Callable[[], None] | None = None
    ) -> None:
        self._tell = tell
        self._may_hear = may_hear
        self._end = end
        self._waiting: dict[ServerEvent, None] = {}
        self._telling: asyncio.Task[None] | None = None
        self._closed = False

    def say(self, event: ServerEvent) -> None:
        """Tell the client, as soon as it has taken what came before."""
        if self._closed:
            return
        self._waiting[event] = None
        if self._telling is None:
            self._telling = asyncio.ensure_future(self._tell_all())

    def close(self) -> None:
        """Tell it nothing more."""
        self._closed = True
        self._waiting.clear()
        if self._telling is not None:
            self._telling.cancel()

    async def _tell_all(self) -> None:
        try:
            while self._waiting:
                if not await self._may_hear():
                    self._leave()
                    return
                event = next(iter(self._waiting))
                del self._waiting[event]
                await self._tell(event)
        except Exception as error:  # noqa: BLE001 - whatever a client's end raises: it is gone, or goes
            _log.debug("a client was not told of a change: %s", type(error).__name__)
        finally:
            self._telling = None

    def _leave(self) -> None:
        self._closed = True
        self._waiting.clear()
        if self._end is not None:
            self._end()
