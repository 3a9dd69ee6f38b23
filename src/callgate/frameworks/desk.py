"""Desk: where the tools of one asker reach the gate, from whatever loop a framework runs on. Knows no framework."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

from callgate.frameworks.reach import AnyGate, asker, way_to
from callgate.model.context import Context
from callgate.model.outcome import Outcome, Pending
from callgate.model.requested import Requested

if TYPE_CHECKING:
    from callgate.runtime.gate import Callgate

T = TypeVar("T")


class Desk:
    """The gate, for one asker.

    Args:
        gate: An open gate, also one for blocking code.
        context: Who asks; the gate's own when left out.

    Raises:
        ConfigurationError: The gate is not open.
    """

    def __init__(self, gate: AnyGate, context: Context | None) -> None:
        self._way = way_to(gate)
        self._alone = asyncio.Lock()
        self.context = asker(gate, context, conversation=None)

    async def do(self, work: Callable[[Callgate], Coroutine[Any, Any, T]]) -> T:
        """Whatever the gate does."""
        return await self._way.wait(work)

    async def make(self, call: Requested, *, alone: bool) -> Outcome:
        """A model's call through the gate; those that are made `alone` do not overlap."""

        async def work(gate: Callgate) -> Outcome:
            if not alone:
                return await gate.handle_call(call, self.context)
            async with self._alone:
                return await gate.handle_call(call, self.context)

        return await self.do(work)

    async def wait(self, outcome: Outcome, seconds: float | None) -> Outcome:
        """What became of a call, after people had so much time to decide; None is none."""
        if not isinstance(outcome, Pending) or seconds is None:
            return outcome
        return await self.do(lambda gate: gate.resume(outcome.approval_id, self.context, wait=seconds))
