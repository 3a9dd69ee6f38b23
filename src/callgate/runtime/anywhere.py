"""Anywhere: an open gate for code that is not on its loop, such as the threads and loops of somebody's framework."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from callgate.sync import Bridge

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

    from callgate.model.context import Context
    from callgate.model.outcome import Outcome


class Caller(Protocol):
    """What is reached: a gate. Its other methods are the asker's to name."""

    async def call(
        self,
        tool: str,
        arguments: Mapping[str, Any] | None = None,
        context: Context | None = None,
        *,
        wait: float | None = None,
    ) -> Outcome:
        """Call a tool."""
        ...


G = TypeVar("G", bound=Caller)
T = TypeVar("T")


class Anywhere(Generic[G]):
    """The way to a gate from any thread and any loop. Made by `gate.anywhere()`."""

    def __init__(self, gate: G, loop: AbstractEventLoop) -> None:
        self._gate = gate
        self._bridge = Bridge(loop)

    async def wait(self, work: Callable[[G], Coroutine[Any, Any, T]]) -> T:
        """What the gate is to do, awaited on whatever loop this is: `await way.wait(lambda gate: gate.approve(…))`.

        Raises:
            RuntimeError: Its loop is closed.
        """
        return await self._bridge.wait(partial(work, self._gate))

    def run(self, work: Callable[[G], Coroutine[Any, Any, T]]) -> T:
        """The same, blocking this thread until it ended.

        Raises:
            RuntimeError: On the gate's own loop, which this would stop; or that loop does not run.
        """
        return self._bridge.run(partial(work, self._gate))

    async def call(
        self, tool: str, arguments: Mapping[str, Any], *, context: Context | None = None, wait: float | None = None
    ) -> Outcome:
        """As `gate.call`, awaited on whatever loop this is.

        Raises:
            ConfigurationError: The gate is not open.
            RuntimeError: Its loop is closed.
        """
        return await self.wait(lambda gate: gate.call(tool, arguments, context, wait=wait))

    def call_blocking(
        self, tool: str, arguments: Mapping[str, Any], *, context: Context | None = None, wait: float | None = None
    ) -> Outcome:
        """As `gate.call`, blocking this thread until it ended.

        Raises:
            ConfigurationError: The gate is not open.
            RuntimeError: On the gate's own loop, which this would stop; or that loop does not run.
        """
        return self.run(lambda gate: gate.call(tool, arguments, context, wait=wait))
