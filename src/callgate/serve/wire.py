"""JSON over HTTP, both ways: read so that two readers agree about it, written whatever is in it."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine
from typing import Any

import orjson
from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.responses import JSONResponse

from callgate.model.canonical import NotCanonical, loads

_NOT_TAKEN = "not a parameter of this address"


class Json(JSONResponse):
    """An answer in JSON."""

    def render(self, content: Any) -> bytes:
        """The bytes of the answer."""
        return encoded(content)


def encoded(content: Any) -> bytes:
    """JSON, also of what orjson does not write: integers beyond 64 bits, half characters."""
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
    """A route that reads as the rest of Callgate does: no repeated key, no NaN, no half characters, nothing unknown."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler, given requests that read strictly."""
        inner = super().get_route_handler()
        known = {field.alias for field in self.dependant.query_params}

        async def handle(request: Request) -> Response:
            odd = sorted(set(request.query_params) - known)
            if odd:
                # One that is misspelt would be as one that was left out.
                raise RequestValidationError([{"type": "extra_forbidden", "loc": ("query", odd[0]), "msg": _NOT_TAKEN}])
            return await inner(_StrictRequest(request.scope, request.receive))

        return handle
