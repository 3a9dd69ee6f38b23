"""The HTTP client a session is made with: answers of bounded size, and a status that means something said in words.

Imports the HTTP client.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, cast

import httpx2

from callgate.adapters.mcp.http_bounds import BoundedTransport
from callgate.adapters.mcp.not_taken import Forgotten, Renewed, SignedOut, TurnedAway, message_of
from callgate.adapters.mcp.oauth.bearer import RENEWED
from callgate.model.visible import visible

_CONNECTING = 10.0
_SILENCE = 300.0
"""Seconds between two pieces of an answer; the call's own time limit is usually shorter."""
_SESSION = "mcp-session-id"
_NEEDS_SIGN_IN, _FORBIDDEN = 401, 403
_UNKNOWN_SESSION = frozenset({400, 404})
_SCOPE = re.compile(r'\bscope="([^"]{1,500})"')

Advice = Callable[[], str]
"""Why a server turns us away, and what to do about it."""


class SessionClient(httpx2.AsyncClient):
    """Sends what belongs to one session.

    Args:
        headers: Sent with every request.
        auth: Adds what the server wants to see, if it wants something.
        advice: Told where the server wants to see something else.
    """

    def __init__(self, headers: Mapping[str, str], *, auth: httpx2.Auth | None, advice: Advice) -> None:
        super().__init__(
            headers={**headers, "accept-encoding": "identity"},
            auth=auth,
            timeout=httpx2.Timeout(_CONNECTING, read=_SILENCE),
            transport=_transport(),
        )
        self._advice = advice
        self._urls: dict[str, httpx2.URL] = {}

    def build_request(self, method: str, url: httpx2.URL | str, **options: Any) -> httpx2.Request:  # pyright: ignore[reportIncompatibleMethodOverride] - hands them on
        """As always; but a session has one URL, which need not be understood anew with every request."""
        known = self._urls.get(url) if isinstance(url, str) else url
        if known is None:
            known = self._urls[str(url)] = httpx2.URL(url)
        return super().build_request(method, known, **options)

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:  # pyright: ignore[reportIncompatibleMethodOverride] - hands them on
        """As always; but what the server says it did not take is answered by us, with the reason."""
        response = await super().send(request, **options)
        body = await self._not_taken(request, response)
        if body is None:
            return response
        await response.aclose()
        return httpx2.Response(response.status_code, json=body, request=request)

    async def _not_taken(self, request: httpx2.Request, response: httpx2.Response) -> dict[str, Any] | None:
        if response.status_code == _NEEDS_SIGN_IN:
            if RENEWED in request.extensions:
                return message_of(Renewed, "the server did not take its token, which was renewed since")
            return message_of(SignedOut, self._advice())
        challenge = response.headers.get("www-authenticate", "")
        if response.status_code == _FORBIDDEN and "insufficient_scope" in challenge:
            return message_of(TurnedAway, _wants_more(challenge))
        if response.status_code in _UNKNOWN_SESSION and _SESSION in request.headers:
            await response.aread()
            return None if _understood(response) else message_of(Forgotten, "the server no longer knows the session")
        return None


def _transport() -> httpx2.AsyncBaseTransport:
    try:
        from callgate.adapters.mcp.http_session import SessionTransport  # noqa: PLC0415 - needs the extra `serve`
    except ImportError:
        return BoundedTransport()
    return SessionTransport()


def _wants_more(challenge: str) -> str:
    found = _SCOPE.search(challenge)
    named = f" ({visible(found[1])})" if found else ""
    return f"the server wants more rights for this{named}; add them under auth.oauth.scopes, and sign in again"


def _understood(response: httpx2.Response) -> bool:
    """Whether it is the server's answer to the message itself: to its method, or its parameters."""
    try:
        answer = json.loads(response.content)
    except (ValueError, RecursionError):
        return False
    error = cast("dict[str, Any]", answer).get("error") if isinstance(answer, dict) else None
    code = cast("dict[str, Any]", error).get("code") if isinstance(error, dict) else None
    return code in {-32700, -32601, -32602, -32603}
