"""The app: every network door of one gate, behind one guard."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse
from starlette.types import ASGIApp

import callgate
from callgate.errors import CallgateError
from callgate.runtime.gate import Callgate
from callgate.serve.addresses import Addresses
from callgate.serve.api import router
from callgate.serve.api.paging import BadCursor
from callgate.serve.guard import Guard
from callgate.serve.listening import Listening, TooManyListeners
from callgate.serve.problems import problem, told
from callgate.serve.rates import Rates, TooManyRequests
from callgate.serve.who import NobodySignedIn
from callgate.settings.values import ServeSettings

_DEFAULTS = ServeSettings()
_TOLD = {
    400: ("the body cannot be read", "invalid_request"),
    404: ("there is nothing at this address", "no_such_address"),
    405: ("this address does not take this method", "no_such_method"),
}


def make_app(
    gate: Callgate,
    *,
    addresses: Addresses,
    body_bytes: int,
    settings: ServeSettings = _DEFAULTS,
    listening: Listening | None = None,
) -> ASGIApp:
    """Everything that is served in front of an open gate.

    Args:
        gate: Whose doors these are.
        addresses: How they are reached.
        body_bytes: The largest request that is read.
        settings: How often one credential may ask.
        listening: Who listens to what is recorded; to be closed before the server is.
    """
    app = FastAPI(title="Callgate", version=callgate.__version__, docs_url=None, redoc_url=None)
    app.state.gate = gate
    app.state.addresses = addresses
    app.state.rates = Rates(per_second=settings.requests_per_second, burst=settings.requests_at_once)
    app.state.listening = listening or Listening(gate)
    app.add_exception_handler(NobodySignedIn, _sign_in)
    app.add_exception_handler(TooManyListeners, _too_many)
    app.add_exception_handler(TooManyRequests, _too_many)
    app.add_exception_handler(BadCursor, _bad_cursor)
    app.add_exception_handler(CallgateError, told)
    app.add_exception_handler(RequestValidationError, _misread)
    app.add_exception_handler(HTTPException, _no_such)
    app.add_exception_handler(Exception, _our_fault)
    router.install(app)
    return Guard(app, addresses=addresses, body_bytes=body_bytes)


async def _sign_in(_request: Request, error: Exception) -> JSONResponse:
    return problem(401, str(error), code="not_signed_in", headers={"WWW-Authenticate": 'Bearer realm="callgate"'})


async def _too_many(_request: Request, error: Exception) -> JSONResponse:
    if isinstance(error, TooManyRequests):
        return problem(429, str(error), code="too_many_requests", headers={"Retry-After": str(error.seconds)})
    return problem(503, str(error), code="too_many_listeners", headers={"Retry-After": "10"})


async def _bad_cursor(_request: Request, error: Exception) -> JSONResponse:
    return problem(422, str(error), code="invalid_request", faults=[f"cursor: {error}"])


async def _misread(_request: Request, error: Exception) -> JSONResponse:
    """What does not fit the schema, by place; what was sent is not told back, it may hold anything."""
    found = error.errors() if isinstance(error, RequestValidationError) else ()
    faults = [_fault(each) for each in found]
    return problem(422, "; ".join(faults) or "it cannot be read", code="invalid_request", faults=faults)


def _fault(found: Mapping[str, Any]) -> str:
    if found["type"] == "json_invalid":
        return f"body: {found['ctx']['error']}"
    return f"{'.'.join(map(str, found['loc'][1:])) or 'body'}: {found['msg']}"


async def _no_such(_request: Request, error: Exception) -> JSONResponse:
    status = error.status_code if isinstance(error, HTTPException) else HTTPStatus.INTERNAL_SERVER_ERROR
    headers = dict(error.headers or {}) if isinstance(error, HTTPException) else None
    text, code = _TOLD.get(status, (str(getattr(error, "detail", error)), "refused"))
    return problem(status, text, code=code, headers=headers)


async def _our_fault(_request: Request, _error: Exception) -> JSONResponse:
    return problem(500, "a fault in callgate itself; the log of the server has it", code="fault")
