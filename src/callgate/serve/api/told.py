"""Outcomes over HTTP: one table from how a call ended to a status. Every body is the outcome itself."""

from __future__ import annotations

from starlette.responses import JSONResponse

from callgate.model.outcome import Outcome, Pending, Refused
from callgate.runtime.outcome_form import outcome_to_json
from callgate.serve.problems import problem
from callgate.serve.wire import Json

_REFUSED = {
    "tool_not_found": 404,
    "invalid_arguments": 422,
    "policy_denied": 403,
    "scope_violation": 403,
    "gate_denied": 403,
    "tool_quarantined": 403,
    "assurance_too_low": 403,
    "limit_exceeded": 429,
    "tool_unavailable": 503,
    "store_unavailable": 503,
}
"""Refusals that are neither the caller's fault nor a lack of right are conflicts with what is so."""


def outcome_answer(outcome: Outcome) -> JSONResponse:
    """How a call ended: 200 where it did, 202 where a person has to decide first, a problem where it was refused."""
    body = outcome_to_json(outcome)
    if isinstance(outcome, Refused) and outcome.error is not None:
        status = _REFUSED.get(outcome.error.code, 409)
        return problem(status, outcome.error.message, code=outcome.error.code, outcome=body)
    return Json(body, status_code=202 if isinstance(outcome, Pending) else 200)
