"""What servers behind the gate say has changed, told to clients that may see it and asked to be told."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from mcp import MCPError
from mcp.server.subscriptions import PromptsListChanged, ResourcesListChanged, ResourceUpdated, ServerEvent
from mcp_types import INVALID_PARAMS

from callgate.serve.mcp.upstream import PROMPT, READ, Upstream

if TYPE_CHECKING:
    from callgate.runtime.gate import Callgate
    from callgate.runtime.relaying import Held
    from callgate.serve.mcp.asker import Asker
    from callgate.serve.mcp.line import Line

_MOST = 1000
"""Resources that one client subscribes to."""


class _Subscribed(NamedTuple):
    source: str
    own: str
    """What the source calls the resource."""
    held: Held


class Ear:
    """One client that hears. Closed when it leaves.

    Args:
        gate: An open gate.
        asker: Who listens.
        line: How it is told.
    """

    def __init__(self, gate: Callgate, asker: Asker, *, line: Line) -> None:
        self._gate = gate
        self._upstream = Upstream(gate)
        self._asker = asker
        self._line = line
        self._subscribed: dict[str, _Subscribed] = {}
        self._asking = 0
        self._closed = False
        sources = {place.source for method in (READ, PROMPT) for place in self._upstream.places(method, asker)}
        self._ends = [gate.on_relayed(source, self._listener(source)) for source in sources]

    async def subscribe(self, uri: str, asker: Asker) -> None:
        """Be told when this resource changes; twice is once.

        Raises:
            MCPError: There is none that this asker may read, it is denied, its server refuses, or it is one too many.
        """
        before = self._subscribed.get(uri)
        if before is not None and before.held.is_made():
            return
        if len(self._subscribed) + self._asking >= _MOST:
            raise MCPError(INVALID_PARAMS, f"one client subscribes to {_MOST} resources at most")
        place, own = self._upstream.resource(uri, asker)
        self._asking += 1
        try:
            held = await self._upstream.subscribe(place, own, asker=asker)
        finally:
            self._asking -= 1
        if self._closed or self._subscribed.get(uri) is not before:  # It left meanwhile, or asked twice at once.
            await self._gate.relay_release([held])
            return
        self._subscribed[uri] = _Subscribed(place.source, own, held)
        if before is not None:
            await self._gate.relay_release([before.held])

    async def unsubscribe(self, uri: str) -> None:
        """Be told no more; what was not asked for is none."""
        found = self._subscribed.pop(uri, None)
        if found is not None:
            await self._gate.relay_release([found.held])

    async def close(self) -> None:
        """Leave."""
        self._closed = True
        for end in self._ends:
            end()
        self._ends = []
        left = [each.held for each in self._subscribed.values()]
        self._subscribed.clear()
        await self._gate.relay_release(left)

    def _listener(self, source: str) -> Callable[[str, str | None], None]:
        def heard(kind: str, uri: str | None) -> None:
            event = self._event(source, kind, uri=uri)
            if event is not None:
                self._line.say(event)

        return heard

    def _event(self, source: str, kind: str, *, uri: str | None) -> ServerEvent | None:
        """What this client may hear of it: judged now, not when it began to listen."""
        method = PROMPT if kind == "prompts/list" else READ
        if source not in {place.source for place in self._upstream.places(method, self._asker)}:
            return None
        if kind != "resources/updated":
            return PromptsListChanged() if kind == "prompts/list" else ResourcesListChanged()
        told = (out for out, each in self._subscribed.items() if (each.source, each.own) == (source, uri))
        return next((ResourceUpdated(uri=out) for out in told), None)
