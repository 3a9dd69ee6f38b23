"""Policy over HTTP: which roles there are, and what would be decided about anybody's call. Changes nothing."""

from __future__ import annotations

from fastapi import APIRouter
from pydantic import BaseModel

from callgate.errors import ConfigurationError
from callgate.model.context import Context
from callgate.serve.api.asking import AskedTool
from callgate.serve.api.outcome_forms import DecisionBody, decision_body
from callgate.serve.entrants import Gate, Reader
from callgate.serve.wire import Json, StrictRoute

router = APIRouter(tags=["policy"], route_class=StrictRoute)


class Roles(BaseModel):
    """The roles of the configuration."""

    items: list[str]


@router.get("/policy/roles", responses={200: {"model": Roles}})
async def roles(gate: Gate, _reader: Reader) -> Json:
    """The roles that the configuration knows."""
    return Json({"items": list(gate.roles())})


@router.post("/policy/explain", responses={200: {"model": DecisionBody}})
async def explain(asked: AskedTool, gate: Gate, _reader: Reader) -> Json:
    """What would be decided about a call under any context, and why. Nothing is done or recorded."""
    try:
        context = Context(**asked.context.model_dump(exclude_none=True))
    except ValueError as error:
        raise ConfigurationError(str(error)) from None
    return Json(decision_body(asked.tool, await gate.explain(asked.tool, asked.arguments, context)))
