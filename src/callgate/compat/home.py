"""Home: the gate that a facade was given, or one of its own, opened with its first call and closed with the facade."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from callgate.model.context import Context
    from callgate.model.event import Event


class Home:
    """Where the calls of a facade go.

    Args:
        gate: An open gate, async or blocking. Without one, `Callgate.open()` is opened when it is first needed.
    """

    def __init__(self, gate: Any = None) -> None:
        self._given = gate
        self._own: Any = None
        self._entered = False
        self._opening = asyncio.Lock()

    @property
    def gate(self) -> Any:
        """The gate; one of its own may not be open yet, and takes tools all the same."""
        if self._given is not None:
            return self._given
        if self._own is None:
            # Only whoever has no gate pays for one.
            from callgate.runtime.gate import Callgate  # noqa: PLC0415

            self._own = Callgate.open()
        return self._own

    async def opened(self) -> Any:
        """The gate, open."""
        if self._given is None:
            async with self._opening:
                if not self._entered:
                    await self.gate.__aenter__()
                    self._entered = True
        return self.gate

    async def close(self) -> None:
        """Let go of the gate, if it is one of its own."""
        own, self._own, self._entered = self._own, None, False
        if own is not None:
            await own.close()

    def call(self, tool: str, arguments: Mapping[str, Any], context: Context, **options: Any) -> Any:  # noqa: PLR0917
        """As the gate's own `call`: an outcome, over an async gate to be awaited."""
        if self._given is not None:
            return self._given.call(tool, arguments, context, **options)
        return self._call_own(tool, arguments, context, **options)

    async def _call_own(self, *call: Any, **options: Any) -> Any:
        return await (await self.opened()).call(*call, **options)

    async def events_of(self, call_id: str) -> list[Event]:
        """What was recorded of one call, in order."""
        source = self.gate.events(call_id=call_id)
        return [event async for event in source] if hasattr(source, "__aiter__") else list(source)


async def settled(value: Any) -> Any:
    """What a gate answered: awaited, where it has to be."""
    return await value if inspect.isawaitable(value) else value
