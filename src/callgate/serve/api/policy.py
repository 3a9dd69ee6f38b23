"""Policy over HTTP: what roles give, and what would be decided about anybody's call. Changes nothing."""

from __future__ import annotations

from fastapi import APIRouter
from pydantic import BaseModel

from callgate.errors import ConfigurationError
from callgate.model.context import Context
from callgate.runtime.role_form import role_to_json
from callgate.serve.api.asking import AskedTool
from callgate.serve.api.outcome_forms import DecisionBody, decision_body
from callgate.serve.entrants import Gate, Reader
from callgate.serve.wire import Json, StrictRoute

router = APIRouter(tags=["policy"], route_class=StrictRoute)


class RuleBody(BaseModel):
    """A stricter answer for the calls it matches."""

    match: str
    when: str | None
    verdict: str | None
    risk: str | None
    by: str | None
    assurance: str | None
    on_expiry: str | None
    why: str


class RoleBody(BaseModel):
    """What a role gives to whoever acts in it."""

    name: str
    scopes: list[str] | None
    """None is every scope but `secrets:*`."""
    autonomy: str | None
    """Where a context does not say; None is the configuration's."""
    allow: list[str]
    deny: list[str]
    max_autonomy: str | None
    max_risk: str | None
    rules: list[RuleBody]


class Roles(BaseModel):
    """The roles of the configuration."""

    items: list[RoleBody]


@router.get("/policy/roles", responses={200: {"model": Roles}})
async def roles(gate: Gate, _reader: Reader) -> Json:
    """The roles that the configuration knows, and what each gives."""
    return Json({"items": [role_to_json(gate.role_given(name)) for name in gate.roles()]})


@router.post("/policy/explain", responses={200: {"model": DecisionBody}})
async def explain(asked: AskedTool, gate: Gate, _reader: Reader) -> Json:
    """What would be decided about a call under any context, and why. Nothing is done or recorded."""
    try:
        context = Context(**asked.context.model_dump(exclude_none=True))
    except ValueError as error:
        raise ConfigurationError(str(error)) from None
    return Json(decision_body(asked.tool, await gate.explain(asked.tool, asked.arguments, context)))
