"""Desk: where the tools of one asker reach the gate, from whatever loop a framework runs on. Knows no framework."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

from callgate.model.context import Context

if TYPE_CHECKING:
    from callgate.runtime.anywhere import Anywhere
    from callgate.runtime.blocking import BlockingCallgate
    from callgate.runtime.gate import Callgate
    from callgate.runtime.turn import Turn

T = TypeVar("T")


class Desk:
    """The gate, for one asker.

    Args:
        gate: An open gate, also one for blocking code.
        context: Who asks; the gate's own when left out.

    Raises:
        ConfigurationError: The gate is not open.
    """

    def __init__(self, gate: Callgate | BlockingCallgate, context: Context | None) -> None:
        self._door: Anywhere[Callgate] = gate.anywhere()
        self._alone = asyncio.Lock()
        self.context: Context = context or gate.default_context

    async def do(self, work: Callable[[Callgate], Coroutine[Any, Any, T]]) -> T:
        """Whatever the gate does."""
        return await self._door.do(work)

    async def handle(self, response: dict[str, Any], *, alone: bool) -> Turn:
        """The calls of a response through the gate; those that are made `alone` do not overlap."""

        async def work(gate: Callgate) -> Turn:
            if not alone:
                return await gate.handle(response, self.context)
            async with self._alone:
                return await gate.handle(response, self.context)

        return await self.do(work)

    async def wait(self, turn: Turn, seconds: float | None) -> Turn:
        """The same turn, after people had so much time to decide; None is none."""
        return turn if seconds is None else await self.do(lambda gate: gate.wait_for(turn, seconds))
