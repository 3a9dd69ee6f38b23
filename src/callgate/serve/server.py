"""The server: one port in front of one open gate, until it is told to stop; then what runs is let end."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Generator

import uvicorn

from callgate.runtime.gate import Callgate
from callgate.serve.addresses import Addresses, addresses
from callgate.serve.app import guarded, make_app
from callgate.serve.connection import Connection
from callgate.serve.console.app import Console
from callgate.serve.listening import Listening
from callgate.serve.mcp.http import McpEndpoint
from callgate.serve.oauth import ResourceServer
from callgate.serve.rates import Rates
from callgate.serve.sockets import listen
from callgate.serve.whole_record import WholeRecord
from callgate.settings.values import ServeSettings

_GRACE = 30
_LOOK_AGAIN = 0.01


class _Server(uvicorn.Server):
    """Leaves signals alone: they are for whoever opened the gate, and the server ends with their block."""

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        yield


@contextlib.asynccontextmanager
async def serving(gate: Callgate, settings: ServeSettings) -> AsyncGenerator[Addresses]:
    """Serve an open gate for as long as the block lasts; gives where it is reached.

    Raises:
        ConfigurationError: The address or port cannot be listened on.
    """
    sockets = listen(settings.address, settings.port)
    found = addresses(
        address=settings.address,
        port=sockets[0].getsockname()[1],
        url=settings.url,
        hosts=settings.hosts,
        name=gate.own_name,
    )
    listeners = Listening(gate)
    gate.served_at(found.console)
    gate.count()
    oauth = None if settings.oauth is None else ResourceServer(settings.oauth, audience=found.url)
    rates = Rates(per_second=settings.requests_per_second, burst=settings.requests_at_once)
    mcp = McpEndpoint(
        gate, url=found.url, body_bytes=settings.body_bytes, oauth=oauth, rates=rates, console=found.console
    )
    record = WholeRecord(gate)
    console = Console(gate, addresses=found, listening=listeners, record=record)
    app = make_app(
        gate,
        addresses=found,
        oauth=oauth,
        rates=rates,
        console=console,
        listening=listeners,
        record=record,
    )
    config = uvicorn.Config(
        guarded(app, mcp, addresses=found, body_bytes=settings.body_bytes),
        log_config=None,
        access_log=False,
        lifespan="off",
        # Where no proxy is named, who says of a request where it comes from is whoever sent it.
        proxy_headers=settings.url is not None,
        http=Connection,
        ws="none",  # else what asks for another protocol goes past the guard
        server_header=False,
        timeout_graceful_shutdown=_GRACE,
    )
    server = _Server(config)
    async with mcp.open():
        task = asyncio.create_task(server.serve(sockets=sockets))
        try:
            while not server.started and not task.done():  # noqa: ASYNC110 - uvicorn has no event for it
                await asyncio.sleep(_LOOK_AGAIN)
            yield found
        finally:
            listeners.close()  # who listens would not leave by themselves
            server.should_exit = True
            mcp.end_streams()
            console.end_streams()
            await task
            for each in sockets:
                each.close()
