"""Telling clients that their tools are others now: only those whose own pool changed, and only while they may ask."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from callgate.errors import CallgateError

if TYPE_CHECKING:
    from callgate.runtime.gate import Callgate
    from callgate.serve.mcp.asker import Asker

_log = logging.getLogger("callgate.mcp")
_SETTLES_IN = 0.05
"""Changes come in bursts; clients list again for each time they are told."""


@dataclass(slots=True, eq=False)
class Follower:
    """A client that wants to hear of changes."""

    asker: Asker
    tell: Callable[[], Awaitable[Any]]
    end: Callable[[], None]
    """Called when it may not hear any more."""
    saw: object = None


class Changes:
    """Looks again at the pools of its followers when something happened that may have changed them.

    Args:
        gate: An open gate.
        look: What an asker is shown now; two that are equal are the same to it.
    """

    def __init__(self, gate: Callgate, look: Callable[[Asker], object]) -> None:
        self._gate = gate
        self._look = look
        self._followers: set[Follower] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._looking: asyncio.Task[None] | None = None
        self._unlisten = gate.on_pools(self._soon)

    def follow(self, follower: Follower) -> None:
        """Tell this one from now on."""
        follower.saw = self._look(follower.asker)
        self._followers.add(follower)

    def leave(self, follower: Follower) -> None:
        """Tell this one no more; twice is once."""
        self._followers.discard(follower)

    def close(self) -> None:
        """Tell nobody any more."""
        self._unlisten()
        for running in (self._timer, self._looking):
            if running is not None:
                running.cancel()

    def _soon(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(_SETTLES_IN, self._start)

    def _start(self) -> None:
        if self._looking is not None and not self._looking.done():
            self._soon()
        elif self._followers:
            self._looking = asyncio.ensure_future(self._look_again())

    async def _look_again(self) -> None:
        try:
            gone = {each.id for each in await self._gate.credentials() if each.revoked_at is not None}
            for follower in list(self._followers):
                credential = follower.asker.credential
                if credential is not None and credential.id in gone:
                    self.leave(follower)
                    follower.end()
                elif (now := self._look(follower.asker)) != follower.saw:
                    follower.saw = now
                    await follower.tell()
        except CallgateError as error:  # the gate is closing, or its store cannot be read now
            _log.debug("clients were not told of changes: %s", type(error).__name__)
