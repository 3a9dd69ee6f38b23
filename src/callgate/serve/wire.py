"""JSON over HTTP, both ways: read so that two readers agree about it, written whatever is in it."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine
from typing import Any

import orjson
from fastapi import Request, Response
from fastapi.routing import APIRoute
from starlette.responses import JSONResponse

from callgate.model.canonical import NotCanonical, loads


class Json(JSONResponse):
    """An answer in JSON, also of what orjson does not write: integers beyond 64 bits, half characters."""

    def render(self, content: Any) -> bytes:
        """The bytes of the answer."""
        try:
            return orjson.dumps(content)
        except orjson.JSONEncodeError:
            return json.dumps(content, separators=(",", ":")).encode()


class _StrictRequest(Request):
    async def json(self) -> Any:
        body = await self.body()
        try:
            return loads(body)
        except NotCanonical as error:
            raise json.JSONDecodeError(str(error), "", 0) from None


class StrictRoute(APIRoute):
    """A route whose body is read as the rest of Callgate reads JSON: no repeated key, no NaN, no half characters."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler, given requests that read strictly."""
        inner = super().get_route_handler()

        async def handle(request: Request) -> Response:
            return await inner(_StrictRequest(request.scope, request.receive))

        return handle
