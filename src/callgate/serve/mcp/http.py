"""MCP over streamable HTTP: who comes in is found out for every request, then the SDK's transport has it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.requests import HTTPConnection

from callgate.errors import EntryRefused
from callgate.serve.addresses import MCP
from callgate.serve.mcp.asker import CREDENTIAL, SOURCE, by_credential
from callgate.serve.mcp.door import McpDoor
from callgate.serve.mcp.hearing import Streams
from callgate.serve.mcp.sessions import Sessions
from callgate.serve.problems import problem, too_many_requests
from callgate.serve.rates import Rates, TooManyRequests
from callgate.serve.who import NobodySignedIn, bearer, need_agent, not_signed_in

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

    from callgate.model.credential import Credential
    from callgate.runtime.gate import Callgate
    from callgate.serve.oauth import ResourceServer


class McpEndpoint:
    """The ASGI app behind `/mcp` and `/mcp/{source}`.

    Args:
        gate: An open gate.
        url: Where agents are sent.
        console: Where people decide, if that is elsewhere.
        body_bytes: The largest request that is read.
        rates: How often each credential may ask.
        oauth: Whose access tokens let agents in besides.
    """

    def __init__(
        self,
        gate: Callgate,
        *,
        url: str,
        body_bytes: int,
        rates: Rates,
        oauth: ResourceServer | None = None,
        console: str | None = None,
    ) -> None:
        self._gate = gate
        self._url = url
        self._oauth = oauth
        self._rates = rates
        self.door = McpDoor(gate, by_credential(gate), url=console or url)
        self._manager = StreamableHTTPSessionManager(self.door, max_request_body_size=body_bytes)
        self._sessions = Sessions(gate, self._manager)
        self.door.middleware.append(self._sessions.counted)
        self._streams = Streams(gate)

    @contextlib.asynccontextmanager
    async def open(self) -> AsyncGenerator[None]:
        """Serve while the block lasts."""
        started, stop = asyncio.Event(), asyncio.Event()

        # The SDK's task group has to be entered and left in one task, and whoever serves may be in another by then.
        async def hold() -> None:
            async with self._manager.run():
                started.set()
                await stop.wait()

        holding = asyncio.ensure_future(hold())
        starting = asyncio.ensure_future(started.wait())
        try:
            await asyncio.wait((holding, starting), return_when=asyncio.FIRST_COMPLETED)
            if not started.is_set():
                await holding  # raises why it could not begin
            yield
        finally:
            starting.cancel()
            await self._sessions.close()
            stop.set()
            try:
                await holding
            finally:
                self.door.close()

    def end_streams(self) -> None:
        """Close what only waits for news, so that the server can let what runs end."""
        self.door.end_streams()
        self._streams.end()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: PLR0917 - ASGI's signature
        try:
            shown = await bearer(self._gate, HTTPConnection(scope), oauth=self._oauth)
            self._rates.take(shown.id)
            credential = need_agent(shown)
        except NobodySignedIn as error:
            await not_signed_in(error, self._oauth, url=self._url)(scope, receive, send)
            return
        except TooManyRequests as error:
            await too_many_requests(error)(scope, receive, send)
            return
        except EntryRefused as error:
            await problem(403, str(error), code="entry_refused")(scope, receive, send)
            return
        source = scope["path"].removeprefix(MCP).strip("/") or None
        asked = {**scope, CREDENTIAL: credential, SOURCE: source, "user": _owner(credential, source)}
        if scope["method"] == "GET":
            answer = self._manager.handle_request
            await self._streams.serve(answer, asked, receive=receive, send=send, credential=credential)
        else:
            await self._sessions.serve(asked, receive, send=send, credential=credential)


def _owner(credential: Credential, source: str | None) -> AuthenticatedUser:
    """What the SDK binds a session to: another credential, or another endpoint, finds none of that id."""
    return AuthenticatedUser(AccessToken(token="", client_id=credential.id, scopes=[], subject=source))
