"""The app: every network door of one gate, behind one guard."""

from __future__ import annotations

from http import HTTPStatus

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

import callgate
from callgate.errors import CallgateError
from callgate.runtime.gate import Callgate
from callgate.serve.addresses import Addresses
from callgate.serve.api import calls
from callgate.serve.guard import Guard
from callgate.serve.problems import problem, told
from callgate.serve.who import NobodySignedIn

API = "/api/v1"
MCP = "/mcp"


def make_app(gate: Callgate, *, addresses: Addresses, body_bytes: int, mcp: ASGIApp | None = None) -> ASGIApp:
    """Everything that is served in front of an open gate.

    Args:
        gate: Whose doors these are.
        addresses: How they are reached.
        body_bytes: The largest request that is read.
        mcp: What answers below `/mcp`.
    """
    app = FastAPI(title="Callgate", version=callgate.__version__, docs_url=None, redoc_url=None)
    app.state.gate = gate
    app.state.addresses = addresses
    app.add_exception_handler(NobodySignedIn, _sign_in)
    app.add_exception_handler(CallgateError, told)
    app.add_exception_handler(RequestValidationError, _misread)
    app.add_exception_handler(HTTPException, _no_such)
    app.include_router(calls.router, prefix=API)
    app.add_api_route("/healthz", _alive, include_in_schema=False)
    both = app if mcp is None else _Beside(app, mcp)
    return Guard(both, addresses=addresses, body_bytes=body_bytes)


class _Beside:
    """Two apps under one guard: MCP is asked far more often than all else, and needs no routes."""

    def __init__(self, app: ASGIApp, mcp: ASGIApp) -> None:
        self._app = app
        self._mcp = mcp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: PLR0917 - ASGI's signature
        path: str = scope.get("path", "")
        to_mcp = scope["type"] == "http" and (path == MCP or path.startswith(f"{MCP}/"))
        await (self._mcp if to_mcp else self._app)(scope, receive, send)


async def _alive() -> dict[str, str]:
    return {"status": "alive"}


async def _sign_in(_request: Request, error: Exception) -> JSONResponse:
    return problem(401, str(error), code="not_signed_in", headers={"WWW-Authenticate": 'Bearer realm="callgate"'})


async def _misread(_request: Request, error: Exception) -> JSONResponse:
    """What does not fit the schema, by place; what was sent is not told back, it may hold anything."""
    found = error.errors() if isinstance(error, RequestValidationError) else ()
    faults = [f"{'.'.join(map(str, fault['loc'][1:])) or 'body'}: {fault['msg']}" for fault in found]
    return problem(422, "; ".join(faults) or "it cannot be read", code="invalid_request", faults=faults)


async def _no_such(_request: Request, error: Exception) -> JSONResponse:
    status = error.status_code if isinstance(error, HTTPException) else HTTPStatus.INTERNAL_SERVER_ERROR
    headers = dict(error.headers or {}) if isinstance(error, HTTPException) else None
    text = "there is nothing at this address" if status == HTTPStatus.NOT_FOUND else str(error)
    return problem(status, text, code="no_such_address", headers=headers)
