"""Problems: every refusal over HTTP in one shape (RFC 9457), and the one table from what went wrong to a status."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse

from callgate import errors
from callgate.serve.rates import TooManyRequests
from callgate.serve.wire import Json

MEDIA_TYPE = "application/problem+json"

_STATUS: dict[type[Exception], int] = {
    errors.EntryRefused: 403,
    errors.NotFound: 404,
    errors.ToolNotFoundError: 404,
    errors.ToolPermissionError: 403,
    errors.AssuranceTooLow: 403,
    errors.InvalidArguments: 422,
    errors.LimitExceeded: 429,
    errors.Conflict: 409,
    errors.Refusal: 409,
    errors.ConfigurationError: 400,
    errors.StoreError: 503,
    errors.StoreUnavailable: 503,
}
"""The nearest class decides; what is not here is ours, and a 500."""

TITLES = {
    400: "The request cannot be met",
    401: "Nobody is signed in",
    403: "Not allowed",
    404: "Not found",
    405: "Not a method of this address",
    408: "The request took too long to arrive",
    409: "It does not fit what is so",
    413: "The request is too large",
    415: "Not a type that is read here",
    421: "Not a host of this server",
    422: "The request does not fit its schema",
    429: "Too many requests",
    431: "The head of the request is too large",
    500: "Something went wrong here",
    503: "The store cannot be used now",
}


def problem(status: int, detail: str, *, code: str, headers: dict[str, str] | None = None, **more: Any) -> JSONResponse:
    """One problem, as it is sent."""
    body: dict[str, Any] = {"type": "about:blank", "title": TITLES.get(status, "Refused"), "status": status}
    body |= {"detail": detail, "code": code, **more}
    return Json(body, status_code=status, media_type=MEDIA_TYPE, headers=headers)


def too_many_requests(error: TooManyRequests) -> JSONResponse:
    """What is answered to a credential that asks too often, at every door: when to come back."""
    return problem(429, str(error), code="too_many_requests", headers={"Retry-After": str(error.seconds)})


def status_of(error: Exception) -> int:
    """The status that tells this error."""
    for kind in type(error).__mro__:
        if kind in _STATUS:
            return _STATUS[kind]
    return 500


async def told(_request: Request, error: Exception) -> JSONResponse:
    """Tell an error of ours; its own words are for people and hold no secret."""
    code = getattr(error, "code", None) or _code(type(error))
    if isinstance(error, errors.InvalidArguments):
        return problem(status_of(error), str(error), code=code, faults=list(error.faults))
    return problem(status_of(error), str(error), code=code)


def _code(kind: type[Exception]) -> str:
    letters = [f"_{letter.lower()}" if letter.isupper() else letter for letter in kind.__name__]
    return "".join(letters).strip("_").removesuffix("_error")
