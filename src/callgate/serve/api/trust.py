"""Trust over HTTP: people who administer look at foreign tools, and say which of them may be called."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from callgate.errors import Conflict
from callgate.model.levels import Assurance
from callgate.serve.api.asking import StrictBody
from callgate.serve.api.tool_forms import DifferenceBody, ProposalBody, difference_body, proposal_body
from callgate.serve.entrants import Administrator, Gate, Reader
from callgate.serve.wire import Json, StrictRoute

router = APIRouter(tags=["trust"], route_class=StrictRoute)


class Looked(StrictBody):
    """The definition that was looked at."""

    definition_hash: str = Field(min_length=1, max_length=128)


class Why(StrictBody):
    """Why a tool is not trusted."""

    why: str = Field(min_length=1, max_length=2000)


class Chosen(StrictBody):
    """A proposal that was looked at."""

    tool: str = Field(min_length=1, max_length=512)
    definition_hash: str = Field(min_length=1, max_length=128)


class Accepted(StrictBody):
    """The proposals that are accepted, all or none."""

    proposals: list[Chosen] = Field(min_length=1, max_length=1000)


class Differences(BaseModel):
    """The tools that wait until somebody looks at them."""

    items: list[DifferenceBody]


class Proposals(BaseModel):
    """What tools of foreign sources should be declared as."""

    items: list[ProposalBody]


@router.get("/tools/{name}/difference", responses={200: {"model": DifferenceBody}})
async def difference(name: str, gate: Gate, _reader: Reader) -> Json:
    """A tool beside what was trusted under its name."""
    return Json(difference_body(gate.difference(name)))


@router.post("/tools/{name}/trust", responses={200: {"model": DifferenceBody}})
async def trust(name: str, looked: Looked, gate: Gate, administrator: Administrator) -> Json:
    """Let a quarantined tool go, if it is still the definition that was looked at."""
    gate.difference(name)
    await gate.trust(name, by=administrator.name, definition_hash=looked.definition_hash, assurance=Assurance.SIGNED_IN)
    return Json(difference_body(gate.difference(name)))


@router.post("/tools/{name}/distrust", responses={200: {"model": DifferenceBody}})
async def distrust(name: str, said: Why, gate: Gate, administrator: Administrator) -> Json:
    """Hold a tool by hand until somebody trusts it."""
    held = await gate.distrust(name, by=administrator.name, why=said.why, assurance=Assurance.SIGNED_IN)
    return Json(difference_body(held))


@router.get("/trust/quarantined", responses={200: {"model": Differences}})
async def quarantined(gate: Gate, _reader: Reader) -> Json:
    """The tools that wait until somebody looks at them, and why."""
    return Json({"items": [difference_body(each) for each in gate.quarantined()]})


@router.get("/trust/proposals", responses={200: {"model": Proposals}})
async def proposals(
    gate: Gate,
    _reader: Reader,
    source: Annotated[str | None, Query(min_length=1, max_length=512)] = None,
    everything: Annotated[bool, Query(description="Also tools that are declared already.")] = False,  # noqa: FBT002 - a query's field
) -> Json:
    """What tools of foreign sources should be declared as; nothing of it is in force."""
    return Json({"items": [proposal_body(each) for each in gate.proposals(source, everything=everything)]})


@router.post("/trust/proposals/accept", responses={200: {"model": Proposals}})
async def accept(said: Accepted, gate: Gate, administrator: Administrator) -> Json:
    """Put proposals in force, for exactly the definitions that were looked at."""
    known = {(each.tool, each.definition_hash): each for each in gate.proposals(everything=True)}
    chosen = [known.get((each.tool, each.definition_hash)) for each in said.proposals]
    accepted = [each for each in chosen if each is not None]
    if len(accepted) < len(chosen):
        raise Conflict("a tool is gone or is another definition than was looked at; look at the proposals again")
    await gate.accept(accepted, by=administrator.name, assurance=Assurance.SIGNED_IN)
    return Json({"items": [proposal_body(each) for each in accepted]})
