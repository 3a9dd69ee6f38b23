"""What servers behind the gate say has changed, told to clients that may see it and asked to be told."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from mcp.server.subscriptions import PromptsListChanged, ResourcesListChanged, ResourceUpdated, ServerEvent

from callgate.errors import CallgateError, ToolError
from callgate.serve.mcp.upstream import PROMPT, READ, Place, Upstream, refused

if TYPE_CHECKING:
    from callgate.runtime.gate import Callgate
    from callgate.serve.mcp.asker import Asker

Tell = Callable[[ServerEvent], Awaitable[object]]


class Ear:
    """One client that hears. Closed when it leaves.

    Args:
        gate: An open gate.
        asker: Who listens.
        tell: How it is told.
    """

    def __init__(self, gate: Callgate, asker: Asker, *, tell: Tell) -> None:
        self._gate = gate
        self._upstream = Upstream(gate)
        self._asker = asker
        self._tell = tell
        self._subscribed: dict[str, tuple[Place, str]] = {}
        self._telling: set[asyncio.Future[object]] = set()
        sources = {place.source for method in (READ, PROMPT) for place in self._upstream.places(method, asker)}
        self._ends = [gate.on_relayed(source, self._listener(source)) for source in sources]

    async def subscribe(self, uri: str) -> None:
        """Be told when this resource changes; twice is once.

        Raises:
            MCPError: There is none that the client may read, or its server refuses.
        """
        if uri in self._subscribed:
            return
        place, own = self._upstream.resource(uri, self._asker)
        try:
            await self._gate.relay_subscribe(place.source, own)
        except (ToolError, ConnectionError) as error:
            raise refused(error) from None
        self._subscribed[uri] = place, own

    async def unsubscribe(self, uri: str) -> None:
        """Be told no more; what was not asked for is none."""
        found = self._subscribed.pop(uri, None)
        if found is not None:
            with contextlib.suppress(CallgateError, ConnectionError, KeyError):
                await self._gate.relay_unsubscribe(found[0].source, found[1])

    async def close(self) -> None:
        """Leave."""
        for end in self._ends:
            end()
        self._ends = []
        for task in self._telling:
            task.cancel()
        for uri in list(self._subscribed):
            await self.unsubscribe(uri)

    def _listener(self, source: str) -> Callable[[str, str | None], None]:
        def heard(kind: str, uri: str | None) -> None:
            event = self._event(source, kind, uri=uri)
            if event is not None:
                telling = asyncio.ensure_future(self._tell(event))
                self._telling.add(telling)
                telling.add_done_callback(self._telling.discard)

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
