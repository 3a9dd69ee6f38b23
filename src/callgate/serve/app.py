"""The app: every network door of one gate, behind one guard."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

import callgate
from callgate.errors import CallgateError
from callgate.runtime.gate import Callgate
from callgate.serve.addresses import MCP, Addresses
from callgate.serve.api import router
from callgate.serve.api.paging import BadCursor
from callgate.serve.entrants import Gate, Reader
from callgate.serve.guard import Guard
from callgate.serve.listening import Listening, TooManyListeners
from callgate.serve.misread import misread
from callgate.serve.oauth import METADATA, ResourceServer
from callgate.serve.problems import SAID, problem, told, too_many_requests
from callgate.serve.rates import Rates, TooManyRequests
from callgate.serve.who import NobodySignedIn, not_signed_in
from callgate.serve.whole_record import WholeRecord


def make_app(
    gate: Callgate,
    *,
    addresses: Addresses,
    oauth: ResourceServer | None,
    rates: Rates,
    console: ASGIApp,
    listening: Listening,
    record: WholeRecord,
) -> ASGIApp:
    """The API of an open gate, and the console where no address of it is meant.

    Args:
        gate: Whose doors these are.
        addresses: How they are reached.
        oauth: Whose access tokens let agents in besides.
        rates: How often each credential may ask, at whichever door.
        console: What answers at no other door's address.
        listening: Who listens to what is recorded; to be closed before the server is.
        record: What reads all of it.
    """
    app = FastAPI(title="Callgate", version=callgate.__version__, docs_url=None, redoc_url=None)
    app.state.gate = gate
    app.state.addresses = addresses
    app.state.oauth = oauth
    app.state.rates = rates
    app.state.listening = listening
    app.state.whole_record = record
    app.add_exception_handler(NobodySignedIn, _sign_in)
    app.add_exception_handler(TooManyListeners, _too_many)
    app.add_exception_handler(TooManyRequests, _too_many)
    app.add_exception_handler(BadCursor, _bad_cursor)
    app.add_exception_handler(CallgateError, told)
    app.add_exception_handler(RequestValidationError, misread)
    app.add_exception_handler(HTTPException, _no_such)
    app.add_exception_handler(Exception, _our_fault)
    router.install(app)
    app.add_api_route("/metrics", _counted, include_in_schema=False)
    app.add_api_route(METADATA, _described, include_in_schema=False)
    app.add_api_route(METADATA + "/{rest:path}", _described, include_in_schema=False)
    app.router.default = console
    return app


def guarded(app: ASGIApp, mcp: ASGIApp, *, addresses: Addresses, body_bytes: int) -> ASGIApp:
    """Everything that is served, behind one guard.

    Args:
        app: What `make_app` made.
        mcp: What answers below `/mcp`.
        addresses: How they are reached.
        body_bytes: The largest request that is read.
    """
    return Guard(_Beside(app, mcp), addresses=addresses, body_bytes=body_bytes)


class _Beside:
    """Two apps under one guard: MCP is asked far more often than all else, and needs no routes."""

    def __init__(self, app: ASGIApp, mcp: ASGIApp) -> None:
        self._app = app
        self._mcp = mcp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: PLR0917 - ASGI's signature
        path: str = scope.get("path", "")
        to_mcp = scope["type"] == "http" and (path == MCP or path.startswith(f"{MCP}/"))
        await (self._mcp if to_mcp else self._app)(scope, receive, send)


async def _counted(gate: Gate, _reader: Reader) -> Response:
    """What was counted, for Prometheus; a person's token with the right to read lets it in."""
    waiting = await gate.open_counts()
    return Response(
        gate.metrics(pending=waiting.pending, unknown=waiting.unknown), media_type="text/plain; version=0.0.4"
    )


async def _described(request: Request) -> dict[str, Any]:
    """Where a client gets a token for us, if anywhere (RFC 9728)."""
    oauth: ResourceServer | None = request.app.state.oauth
    if oauth is None:
        raise HTTPException(HTTPStatus.NOT_FOUND)
    return oauth.described(request.app.state.addresses.url)


async def _sign_in(request: Request, error: Exception) -> JSONResponse:
    return not_signed_in(error, request.app.state.oauth, url=request.app.state.addresses.url)


async def _too_many(_request: Request, error: Exception) -> JSONResponse:
    if isinstance(error, TooManyRequests):
        return too_many_requests(error)
    return problem(503, str(error), code="too_many_listeners", headers={"Retry-After": "10"})


async def _bad_cursor(_request: Request, error: Exception) -> JSONResponse:
    return problem(422, str(error), code="invalid_request", faults=[f"cursor: {error}"])


async def _no_such(_request: Request, error: Exception) -> JSONResponse:
    status = error.status_code if isinstance(error, HTTPException) else HTTPStatus.INTERNAL_SERVER_ERROR
    headers = dict(error.headers or {}) if isinstance(error, HTTPException) else None
    text, code = SAID.get(status, (str(getattr(error, "detail", error)), "refused"))
    return problem(status, text, code=code, headers=headers)


async def _our_fault(_request: Request, _error: Exception) -> JSONResponse:
    text, code = SAID[500]
    return problem(500, text, code=code)
