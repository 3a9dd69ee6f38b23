"""What servers behind the gate say has changed, told to clients that may see it and asked to be told."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from mcp import MCPError
from mcp.server.subscriptions import PromptsListChanged, ResourcesListChanged, ResourceUpdated, ServerEvent
from mcp_types import INVALID_PARAMS

from callgate.serve.mcp.upstream import PROMPT, READ, ShownServer, Upstream

if TYPE_CHECKING:
    from callgate.runtime.gate import Callgate
    from callgate.serve.mcp.asker import Asker
    from callgate.serve.mcp.line import Line

_log = logging.getLogger("callgate.mcp")
_MOST = 1000
"""Resources that one client subscribes to."""


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
        self._subscribed: dict[str, tuple[ShownServer, str]] = {}
        self._asking = 0
        self._closed = False
        sources = {place.source for method in (READ, PROMPT) for place in self._upstream.places(method, asker)}
        self._ends = [gate.on_relayed(source, self._listener(source)) for source in sources]

    async def subscribe(self, uri: str, asker: Asker) -> None:
        """Be told when this resource changes; twice is once.

        Raises:
            MCPError: There is none that this asker may read, it is denied, its server refuses, or it is one too many.
        """
        if uri in self._subscribed:
            return
        if len(self._subscribed) + self._asking >= _MOST:
            raise MCPError(INVALID_PARAMS, f"one client subscribes to {_MOST} resources at most")
        place, own = self._upstream.resource(uri, asker)
        self._asking += 1
        try:
            await self._upstream.subscribe(place, own, asker=asker)
        finally:
            self._asking -= 1
        if self._closed or uri in self._subscribed:  # It left meanwhile, or asked twice at once.
            await self._release([(place, own)])
        else:
            self._subscribed[uri] = place, own

    async def unsubscribe(self, uri: str) -> None:
        """Be told no more; what was not asked for is none."""
        found = self._subscribed.pop(uri, None)
        if found is not None:
            await self._release([found])

    async def close(self) -> None:
        """Leave."""
        self._closed = True
        for end in self._ends:
            end()
        self._ends = []
        left = [*self._subscribed.values()]
        self._subscribed.clear()
        await self._release(left)

    async def _release(self, left: list[tuple[ShownServer, str]]) -> None:
        """All at once, so that none is left behind where there is no time for the others."""
        by_source: dict[str, list[str]] = {}
        for place, own in left:
            by_source.setdefault(place.source, []).append(own)
        releases = (self._gate.relay_release(source, uris) for source, uris in by_source.items())
        for error in await asyncio.gather(*releases, return_exceptions=True):
            if error is not None:
                _log.debug("a source goes on telling of a resource: %s", type(error).__name__)

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
        told = (out for out, (place, own) in self._subscribed.items() if (place.source, own) == (source, uri))
        return next((ResourceUpdated(uri=out) for out in told), None)
