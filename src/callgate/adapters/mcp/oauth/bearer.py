"""Shows a server its token in a session, and nobody else; sign-in and renewal have their own requests."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING

import httpx2

from callgate.adapters.mcp.oauth.guard import same_origin

if TYPE_CHECKING:
    from callgate.adapters.mcp.oauth.keeper import Keeper

_REFUSED = 401


class Bearer(httpx2.Auth):
    """Adds the token to what goes to the server, and a new one where the old is not taken.

    Args:
        server: Where it may be shown.
        keeper: Who has it.
    """

    def __init__(self, server: str, keeper: Keeper) -> None:
        self._server = server
        self._keeper = keeper

    async def async_auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """What the HTTP client asks for."""
        if not same_origin(str(request.url), self._server):
            yield request
            return
        token = await self._keeper.token()
        response = yield _shown(request, token)
        if response.status_code != _REFUSED:
            return
        newer = await self._keeper.renewed(token)
        if newer is None:
            return
        response = yield _shown(request, newer)
        if response.status_code == _REFUSED:
            self._keeper.give_up()


def _shown(request: httpx2.Request, token: str) -> httpx2.Request:
    request.headers["Authorization"] = f"Bearer {token}"
    return request
