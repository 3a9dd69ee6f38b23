"""Telling clients that their tools are others now: only those whose own pool changed."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mcp.server.subscriptions import ToolsListChanged

from callgate.errors import CallgateError

if TYPE_CHECKING:
    from callgate.runtime.gate import Callgate
    from callgate.serve.mcp.asker import Asker
    from callgate.serve.mcp.line import Line

_log = logging.getLogger("callgate.mcp")
_SETTLES_IN = 0.05
"""Changes come in bursts; clients list again for each time they are told."""


@dataclass(slots=True, eq=False)
class Follower:
    """A client that wants to hear of changes."""

    asker: Asker
    line: Line
    saw: object = None


class Changes:
    """Looks again at the pools of its followers when something happened that may have changed them.

    Args:
        gate: An open gate.
        look: What an asker is shown now; two that are equal are the same to it.
    """

    def __init__(self, gate: Callgate, look: Callable[[Asker], object]) -> None:
        self._look = look
        self._followers: set[Follower] = set()
        self._timer: asyncio.TimerHandle | None = None
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
        if self._timer is not None:
            self._timer.cancel()

    def _soon(self) -> None:
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_SETTLES_IN, self._look_again)

    def _look_again(self) -> None:
        self._timer = None
        for follower in self._followers:
            try:
                now = self._look(follower.asker)
            except CallgateError as error:  # the gate is closing
                _log.debug("a client was not told of changes: %s", type(error).__name__)
                continue
            if now != follower.saw:
                follower.saw = now
                follower.line.say(ToolsListChanged())
