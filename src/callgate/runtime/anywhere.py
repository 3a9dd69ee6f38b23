"""Anywhere: an open gate for code that is not on its loop, such as the threads and loops of somebody's framework."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from callgate.sync import Bridge

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

    from callgate.model.context import Context
    from callgate.model.outcome import Outcome

Call = Callable[..., Coroutine[Any, Any, "Outcome"]]
G = TypeVar("G")
T = TypeVar("T")


class Anywhere(Generic[G]):
    """The way to a gate from any thread and any loop. Made by `gate.anywhere()`."""

    def __init__(self, gate: G, *, call: Call, loop: AbstractEventLoop) -> None:
        self._gate = gate
        self._call = call
        self._bridge = Bridge(loop)

    async def do(self, work: Callable[[G], Coroutine[Any, Any, T]]) -> T:
        """Whatever else a gate does, awaited on whatever loop this is; also with a gate for blocking code.

        Args:
            work: Given the gate, what to do on its loop: `lambda gate: gate.resume(approval_id)`.

        Raises:
            RuntimeError: Its loop is closed.
        """
        return await self._bridge.wait(partial(work, self._gate))

    async def call(
        self, tool: str, arguments: Mapping[str, Any], *, context: Context | None = None, wait: float | None = None
    ) -> Outcome:
        """As `gate.call`, awaited on whatever loop this is.

        Raises:
            ConfigurationError: The gate is not open.
            RuntimeError: Its loop is closed.
        """
        return await self._bridge.wait(partial(self._call, tool, arguments, context, wait=wait))

    def call_blocking(
        self, tool: str, arguments: Mapping[str, Any], *, context: Context | None = None, wait: float | None = None
    ) -> Outcome:
        """As `gate.call`, blocking this thread until it ended.

        Raises:
            ConfigurationError: The gate is not open.
            RuntimeError: On the gate's own loop, which this would stop; or that loop does not run.
        """
        return self._bridge.run(partial(self._call, tool, arguments, context, wait=wait))
