"""The sessions of MCP clients: they end with their credential, and nobody has so many that others find no room."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from mcp.server.streamable_http import MCP_SESSION_ID_HEADER
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.datastructures import Headers

from callgate.errors import CallgateError
from callgate.serve.mcp import hearing
from callgate.serve.problems import problem

if TYPE_CHECKING:
    from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
    from mcp.server.streamable_http import StreamableHTTPServerTransport
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
    from starlette.types import Receive, Scope, Send

    from callgate.model.credential import Credential
    from callgate.runtime.gate import Callgate

_log = logging.getLogger("callgate.mcp")
MOST = 1000
"""Sessions that one credential has at a time, a tenth of what there is room for."""
_VERSION = "mcp-protocol-version"


class Sessions:
    """The sessions of one server, by the credentials they were begun with.

    Args:
        gate: An open gate.
        manager: Keeps them.
    """

    def __init__(self, gate: Callgate, manager: StreamableHTTPSessionManager) -> None:
        self._gate = gate
        self._manager = manager
        self._used: Counter[str] = Counter()
        """Requests under way, by the session they are of."""
        self._opening: Counter[str] = Counter()
        """The same, by the credential that begins a session with them."""
        self._watched: dict[str, asyncio.Task[None]] = {}

    async def serve(self, scope: Scope, receive: Receive, *, send: Send, credential: Credential) -> None:
        """Serve one request, unless it would begin one session too many."""
        headers = Headers(scope=scope)
        session = headers.get(MCP_SESSION_ID_HEADER)
        if session is not None:
            with _counted(self._used, session):
                await self._manager.handle_request(scope, receive, send)
        elif headers.get(_VERSION, HANDSHAKE_PROTOCOL_VERSIONS[0]) not in HANDSHAKE_PROTOCOL_VERSIONS:
            await self._manager.handle_request(scope, receive, send)  # it stands alone, and has none
        elif len(self._of(credential.id)) + self._opening[credential.id] >= MOST:
            text = f"this credential has {MOST} sessions; end some, or wait: who asks nothing for 30 minutes has none"
            await problem(429, text, code="too_many_sessions")(scope, receive, send)
        else:
            with _counted(self._opening, credential.id):
                await self._manager.handle_request(scope, receive, send)
            self._watch(credential)

    async def counted(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        """Answer a request: it goes on in its session also where nobody waits for the answer any more."""
        session = None if ctx.request is None else ctx.request.headers.get(MCP_SESSION_ID_HEADER)
        if session is None:
            return await call_next(ctx)
        with _counted(self._used, session):
            return await call_next(ctx)

    async def close(self) -> None:
        """Watch nobody any more."""
        watching = [*self._watched.values()]
        for task in watching:
            task.cancel()
        await asyncio.gather(*watching, return_exceptions=True)

    def _watch(self, credential: Credential) -> None:
        # An access token of another server is in no register. It ends, and its session goes on with the next one.
        if credential.digest and credential.id not in self._watched:
            task = self._watched[credential.id] = asyncio.ensure_future(self._end_with(credential))
            task.add_done_callback(lambda _done: self._watched.pop(credential.id, None))

    async def _end_with(self, credential: Credential) -> None:
        while self._of(credential.id):
            if not await self._counts(credential):
                await self._end_all(credential.id)
            await asyncio.sleep(hearing.LOOK_AGAIN)

    async def _end_all(self, credential_id: str) -> None:
        """Except where something runs: that is let end, and its answer is the caller's."""
        for session, transport in self._of(credential_id).items():
            if session not in self._used:
                await transport.terminate()

    async def _counts(self, credential: Credential) -> bool:
        try:
            return await self._gate.still_counts(credential)
        except CallgateError as error:  # It is asked again, and each request asks for itself.
            _log.debug("whether a credential counts cannot be found out: %s", type(error).__name__)
            return True

    def _of(self, credential_id: str) -> dict[str, StreamableHTTPServerTransport]:
        """Its sessions. Only the SDK knows which have ended by themselves, and has no other word for it."""
        kept = self._manager._server_instances  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - see above
        owners = self._manager._session_owners  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - see above
        return {session: kept[session] for session, owner in owners.items() if owner["client_id"] == credential_id}


@contextmanager
def _counted(among: Counter[str], one: str) -> Generator[None]:
    among[one] += 1
    try:
        yield
    finally:
        among[one] -= 1
        if not among[one]:
            del among[one]
