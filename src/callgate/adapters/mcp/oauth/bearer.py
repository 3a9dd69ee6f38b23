"""Shows a server its token in a session, and nobody else; sign-in and renewal have their own requests.

A call of a tool is never sent twice from here: whether it may be is known only to who made it.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING, Any, cast

import httpx2

from callgate.adapters.mcp.oauth.guard import same_origin

if TYPE_CHECKING:
    from callgate.adapters.mcp.oauth.keeper import Keeper

_REFUSED = 401
RENEWED = "callgate_renewed"
"""Among the extensions of a request that was refused and not sent again, although there is a new token by now."""


class Bearer(httpx2.Auth):
    """Adds the token to what goes to the server, and a new one where the old is not taken.

    Args:
        server: Where it may be shown.
        keeper: Who has it.
    """

    requires_request_body = True

    def __init__(self, server: str, keeper: Keeper) -> None:
        self._server = server
        self._keeper = keeper
        self._untried: str | None = None
        """A token that was made because the one before was refused, until the server takes it."""

    async def async_auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """What the HTTP client asks for."""
        if not same_origin(str(request.url), self._server):
            yield request
            return
        token = await self._keeper.token()
        response = yield _shown(request, token)
        newer = await self._newer(token, response)
        if newer is None:
            return
        if _is_call(request):
            request.extensions[RENEWED] = True
            return
        response = yield _shown(request, newer)
        await self._newer(newer, response)

    async def _newer(self, shown: str, response: httpx2.Response) -> str | None:
        """What to show instead, if it was not taken and there is something."""
        untried = shown == self._untried
        if response.status_code != _REFUSED:
            self._untried = None if untried else self._untried
            return None
        if untried:
            self._keeper.give_up()
            return None
        self._untried = await self._keeper.renewed(shown)
        return self._untried


def _is_call(request: httpx2.Request) -> bool:
    """Whether a tool is called with it, or may be."""
    try:
        message = json.loads(request.content or b"{}")
    except (ValueError, RecursionError):
        return True
    return not isinstance(message, dict) or cast("dict[str, Any]", message).get("method") == "tools/call"


def _shown(request: httpx2.Request, token: str) -> httpx2.Request:
    request.headers["Authorization"] = f"Bearer {token}"
    return request
