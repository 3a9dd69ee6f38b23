"""Problems: every refusal over HTTP in one shape (RFC 9457), and the one table of this door from a code to a status."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse

from callgate import errors
from callgate.serve.rates import TooManyRequests
from callgate.serve.wire import Json

MEDIA_TYPE = "application/problem+json"

_STATUS = {
    "configuration": 400,
    "entry_refused": 403,
    "policy_denied": 403,
    "scope_violation": 403,
    "gate_denied": 403,
    "tool_quarantined": 403,
    "assurance_too_low": 403,
    "not_found": 404,
    "tool_not_found": 404,
    "conflict": 409,
    "refused": 409,
    "invalid_arguments": 422,
    "limit_exceeded": 429,
    "store": 503,
    "store_unavailable": 503,
    "tool_unavailable": 503,
}
"""By code, whether it is raised or is how a call ended. An error has its class's, or that of the nearest class above it
which is here; what has none is ours, and a 500."""

SAID = {
    400: ("the request cannot be read", "invalid_request"),
    404: ("there is nothing at this address", "no_such_address"),
    405: ("this address does not take this method", "no_such_method"),
    500: ("a fault in callgate itself; the log of the server has it", "fault"),
}
"""What is told, and as which code, where the status alone says what is wrong."""

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
    503: "It cannot be done now",
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
    codes = (_code(kind) for kind in type(error).__mro__)
    return next((_STATUS[code] for code in codes if code in _STATUS), 500)


def status_of_refusal(code: str) -> int:
    """The status that tells a call which was refused: a conflict with what is so, where it is nothing else."""
    return _STATUS.get(code, _STATUS["refused"])


def code_of(error: Exception) -> str:
    """What went wrong, for a program."""
    return _code(type(error))


async def told(_request: Request, error: Exception) -> JSONResponse:
    """Tell an error of ours; its own words are for people and hold no secret."""
    more: dict[str, Any] = {"faults": list(error.faults)} if isinstance(error, errors.InvalidArguments) else {}
    return problem(status_of(error), str(error), code=code_of(error), **more)


def _code(kind: type) -> str:
    """A class's own code, else its name as one."""
    own = getattr(kind, "code", None) if issubclass(kind, errors.CallgateError) else None
    letters = [f"_{letter.lower()}" if letter.isupper() else letter for letter in kind.__name__]
    return own or "".join(letters).strip("_").removesuffix("_error")
