"""Grants over HTTP: standing answers, given and taken by people who administer."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from pydantic import Field

from callgate.model.approval import Grant, GrantScope
from callgate.model.levels import Risk
from callgate.serve.api.asking import StrictBody
from callgate.serve.api.paging import Cursor, Limit, ListPlace, Page, listed, page
from callgate.serve.api.people_forms import GrantBody, grant_body
from callgate.serve.entrants import Administrator, Gate, Reader
from callgate.serve.wire import Json, StrictRoute

router = APIRouter(tags=["grants"], route_class=StrictRoute)
_Name = Annotated[str | None, Query(min_length=1, max_length=512)]


class NewGrant(StrictBody):
    """A standing yes for one tool as it is now, to one agent; narrow, and with an end."""

    tool: str = Field(min_length=1, max_length=512)
    principal: str = Field(min_length=1, max_length=512)
    pattern: dict[str, Any] = Field(default_factory=dict, description="Arguments that must be equal; {} is any.")
    max_risk: Literal["low", "medium", "high", "critical"] = "medium"
    scope: Literal["task", "session", "until"] = "session"
    scope_id: str = Field(default="default", min_length=1, max_length=512)
    seconds: float = Field(default=3600.0, gt=0, le=366 * 86_400)


@router.get("/grants", responses={200: {"model": Page[GrantBody]}})
async def grants(
    gate: Gate,
    _reader: Reader,
    *,
    limit: Limit = 50,
    cursor: Cursor = None,
    principal: _Name = None,
    tool: _Name = None,
) -> Json:
    """The grants that are in force, the newest first."""

    async def read(size: int) -> list[Grant]:
        return (await gate.grants(principal=principal, tool=tool))[-size:]

    found, further = await page(
        read, place=lambda each: ListPlace(each.created_at, each.id), limit=limit, cursor=cursor
    )
    return listed([grant_body(each) for each in found], further)


@router.post("/grants", status_code=201, responses={201: {"model": GrantBody}})
async def grant(asked: NewGrant, gate: Gate, administrator: Administrator) -> Json:
    """Give a standing answer to *confirm*."""
    made = await gate.grant(
        asked.tool,
        by=administrator.name,
        principal=asked.principal,
        pattern=asked.pattern,
        max_risk=Risk[asked.max_risk.upper()],
        scope=GrantScope(asked.scope),
        scope_id=asked.scope_id,
        seconds=asked.seconds,
    )
    return Json(grant_body(made), status_code=201)


@router.delete("/grants/{grant_id}", responses={200: {"model": GrantBody}})
async def revoke(grant_id: str, gate: Gate, administrator: Administrator) -> Json:
    """End a grant now."""
    return Json(grant_body(await gate.revoke(grant_id, by=administrator.name)))
