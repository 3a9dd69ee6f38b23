"""The server: one port in front of one open gate, until it is told to stop; then what runs is let end."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncGenerator, Generator

import uvicorn

from callgate.errors import ConfigurationError
from callgate.runtime.gate import Callgate
from callgate.serve.addresses import Addresses, addresses
from callgate.serve.app import make_app
from callgate.serve.connection import Connection
from callgate.serve.console.app import Console
from callgate.serve.listening import Listening
from callgate.serve.mcp.http import McpEndpoint
from callgate.serve.oauth import ResourceServer
from callgate.settings.values import ServeSettings

_GRACE = 10
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
    listening = _listen(settings)
    port: int = listening.getsockname()[1]
    found = addresses(address=settings.address, port=port, url=settings.url, hosts=settings.hosts)
    listeners = Listening(gate)
    gate.served_at(found.url)
    gate.count()
    oauth = None if settings.oauth is None else ResourceServer(settings.oauth, audience=found.url)
    mcp = McpEndpoint(gate, url=found.url, body_bytes=settings.body_bytes, oauth=oauth)
    console = Console(gate, addresses=found)
    app = make_app(gate, addresses=found, settings=settings, oauth=oauth, mcp=mcp, console=console, listening=listeners)
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        lifespan="off",
        http=Connection,
        ws="none",  # else what asks for another protocol goes past the guard
        server_header=False,
        timeout_graceful_shutdown=_GRACE,
    )
    server = _Server(config)
    async with mcp.open():
        task = asyncio.create_task(server.serve(sockets=[listening]))
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
            listening.close()


def _listen(settings: ServeSettings) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.address else socket.AF_INET
    # The protocol is named so that asyncio knows it: else it leaves every answer to wait for an acknowledgement, 40 ms.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((settings.address, settings.port))
    except OSError as error:
        listening.close()
        where = f"{settings.address}:{settings.port}"
        raise ConfigurationError(f"cannot listen on {where} ({error.strerror}); choose another with --port") from None
    listening.listen(2048)
    listening.settimeout(0)
    return listening
