"""Narrowing: an executor's way to its gate with one more layer on every call, for code that may not reach further."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from callgate.compat.home import Home
from callgate.errors import ConfigurationError

if TYPE_CHECKING:
    from callgate.model.context import Context
    from callgate.model.event import Event
    from callgate.model.layer import Layer
    from callgate.model.tool import Tool


class NarrowedGate:
    """What is left of a gate: calls under the layer, and looking at tools."""

    def __init__(self, gate: Any, layer: Layer) -> None:
        self._gate = gate
        self._layer = layer

    def call(self, tool: str, arguments: Mapping[str, Any], context: Context, **options: Any) -> Any:  # noqa: PLR0917 - as the gate's
        """As the gate's own, narrowed."""
        return self._gate.call(tool, arguments, context.narrow(layers=(self._layer,)), **options)

    def batch(self, calls: Sequence[Any], context: Context, **options: Any) -> Any:
        """As the gate's own, narrowed."""
        return self._gate.batch(calls, context.narrow(layers=(self._layer,)), **options)

    def tool(self, name: str) -> Tool:
        """One registered tool.

        Raises:
            ToolNotFoundError: There is none of that name.
        """
        return self._gate.tool(name)

    def time_limit(self, *of: Any, **options: Any) -> float:
        """As the gate's own."""
        return self._gate.time_limit(*of, **options)

    def add(self, *_: Any, **__: Any) -> None:
        """Refuse: whoever may use certain tools only does not say what tools there are.

        Raises:
            ConfigurationError: Always.
        """
        raise ConfigurationError("a skill adds no tools; register them before it runs")


class NarrowedHome(Home):
    """Where the calls of a narrowed executor go: the same gate, under one more layer.

    Args:
        inner: Where they went before.
        layer: What they are under.
    """

    def __init__(self, inner: Home, layer: Layer) -> None:
        super().__init__()
        self._inner = inner
        self._layer = layer

    @property
    def gate(self) -> Any:
        """The gate, narrowed."""
        return NarrowedGate(self._inner.gate, self._layer)

    async def opened(self) -> Any:
        """The gate, open and narrowed."""
        return NarrowedGate(await self._inner.opened(), self._layer)

    async def close(self) -> None:
        """It is not its own to let go."""

    def call(self, tool: str, arguments: Mapping[str, Any], context: Context, **options: Any) -> Any:  # noqa: PLR0917 - as above
        """As the gate's own, narrowed."""
        return self._inner.call(tool, arguments, context.narrow(layers=(self._layer,)), **options)

    async def events_of(self, call_id: str) -> list[Event]:
        """What was recorded of one call, in order."""
        return await self._inner.events_of(call_id)
