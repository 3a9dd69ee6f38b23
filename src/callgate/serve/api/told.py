"""Outcomes over HTTP: how a call ended, as an answer. Every body is the outcome itself."""

from __future__ import annotations

from starlette.responses import JSONResponse

from callgate.model.outcome import Outcome, Pending, Refused
from callgate.runtime.outcome_form import outcome_to_json
from callgate.serve.problems import problem, status_of_refusal
from callgate.serve.wire import Json


def outcome_answer(outcome: Outcome) -> JSONResponse:
    """How a call ended: 200 where it did, 202 where a person has to decide first, a problem where it was refused."""
    body = outcome_to_json(outcome)
    if isinstance(outcome, Refused) and outcome.error is not None:
        status = status_of_refusal(outcome.error.code)
        return problem(status, outcome.error.message, code=outcome.error.code, outcome=body)
    return Json(body, status_code=202 if isinstance(outcome, Pending) else 200)
