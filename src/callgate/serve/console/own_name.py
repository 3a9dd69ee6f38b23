"""The console's own name: it answers under that one and no other, so that no port of anybody else's gets its cookie."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.routing import Match, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from callgate.serve.addresses import Addresses
from callgate.serve.console.pages import page
from callgate.serve.problems import problem


class OwnName:
    """ASGI middleware around the console: under another name it says where it is, and nothing else.

    It does not lead there by itself: a browser that does not find the name would only say that, and behind a proxy
    that changes the name it would be led round in circles.

    Args:
        app: The console.
        addresses: How it is reached.
        pages: What is only there under its name; files of ours, and what is no address at all, are told anywhere.
    """

    def __init__(self, app: ASGIApp, *, addresses: Addresses, pages: Sequence[Route]) -> None:
        self._app = app
        self._addresses = addresses
        self._pages = pages

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._is_meant(scope):
            await self._app(scope, receive, send)
            return
        request = Request(scope)
        where = self._addresses.console
        if "text/html" in request.headers.get("accept", ""):
            query = f"?{request.url.query}" if request.url.query else ""
            wanted = where + request.url.path + query if request.method == "GET" else where
            answer = page(
                request,
                "elsewhere.html",
                status=421,
                where=where,
                wanted=wanted,
                here_at=f"http://{request.url.netloc}",
            )
        else:
            answer = problem(421, f"the console answers at {where}", code="console_elsewhere")
        await answer(scope, receive, send)

    def _is_meant(self, scope: Scope) -> bool:
        host = Headers(scope=scope).get("host", "").lower()
        if host == self._addresses.console_host:
            return True
        return all(page.matches(scope)[0] is Match.NONE for page in self._pages)
