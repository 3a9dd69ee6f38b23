"""What servers behind the gate say has changed, told to clients that may see it and asked to be told."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from mcp import MCPError
from mcp.server.subscriptions import PromptsListChanged, ResourcesListChanged, ResourceUpdated, ServerEvent
from mcp_types import INVALID_PARAMS

from callgate.errors import CallgateError, NotFound, ToolError
from callgate.serve.mcp.upstream import PROMPT, READ, ShownServer, Upstream, refused

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
        sources = {place.source for method in (READ, PROMPT) for place in self._upstream.places(method, asker)}
        self._ends = [gate.on_relayed(source, self._listener(source)) for source in sources]

    async def subscribe(self, uri: str) -> None:
        """Be told when this resource changes; twice is once.

        Raises:
            MCPError: There is none that the client may read, its server refuses, or it is one too many.
        """
        if uri in self._subscribed:
            return
        if len(self._subscribed) >= _MOST:
            raise MCPError(INVALID_PARAMS, f"one client subscribes to {_MOST} resources at most")
        place, own = self._upstream.resource(uri, self._asker)
        try:
            await self._gate.relay_subscribe(place.source, own)
        except (ToolError, NotFound, ConnectionError) as error:
            raise refused(error) from None
        self._subscribed[uri] = place, own

    async def unsubscribe(self, uri: str) -> None:
        """Be told no more; what was not asked for is none."""
        found = self._subscribed.pop(uri, None)
        if found is None:
            return
        place, own = found
        try:
            await self._gate.relay_unsubscribe(place.source, own)
        except (CallgateError, ConnectionError) as error:
            _log.debug("%s goes on telling of a resource: %s", place.source, type(error).__name__)

    async def close(self) -> None:
        """Leave."""
        for end in self._ends:
            end()
        self._ends = []
        for uri in list(self._subscribed):
            await self.unsubscribe(uri)

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
