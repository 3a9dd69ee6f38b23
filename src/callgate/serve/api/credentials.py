"""Credentials over HTTP: people who administer let others in, and end it. A token is told once, in the answer."""

from __future__ import annotations

from typing import Literal

from fastapi import APIRouter
from pydantic import BaseModel, Field

from callgate.model.credential import Credential
from callgate.model.credential_form import credential_document
from callgate.model.levels import Autonomy
from callgate.serve.api.asking import StrictBody
from callgate.serve.api.paging import Cursor, Limit, ListPlace, Page, listed, page
from callgate.serve.entrants import Administrator, Anyone, Gate
from callgate.serve.wire import Json, StrictRoute

router = APIRouter(tags=["credentials"], route_class=StrictRoute)
_YEARS = 366 * 86_400.0 * 10


class NewAgent(StrictBody):
    """An agent that is let in, and the most it may be."""

    name: str = Field(min_length=1, max_length=512)
    role: str = Field(default="default", min_length=1, max_length=512)
    scopes: list[str] | None = Field(default=None, max_length=200)
    autonomy: str | None = Field(default=None, pattern="^A[0-4]$")
    user: str | None = Field(default=None, min_length=1, max_length=512)
    session: str = Field(default="default", min_length=1, max_length=512)
    many_sessions: bool = False
    attended: bool = False
    read_only: bool = False
    no_web: bool = False
    seconds: float | None = Field(default=None, gt=0, le=_YEARS, description="How long it lasts; no end without.")


class NewPerson(StrictBody):
    """A person who is let in, and what they may do."""

    name: str = Field(min_length=1, max_length=512)
    rights: list[Literal["read", "decide", "administer"]] = Field(min_length=1, max_length=3)
    seconds: float | None = Field(default=None, gt=0, le=_YEARS, description="How long it lasts; no end without.")


class CredentialBody(BaseModel):
    """Who is let in, and the most they may be. Of an agent `rights` is null; of a person all that is for calling."""

    id: str
    kind: Literal["agent", "person"]
    name: str
    created_at: float
    created_by: str
    expires_at: float | None
    revoked_at: float | None
    rights: list[str] | None
    password: bool
    """Whether they can sign in at the console with one."""
    role: str | None
    scopes: list[str] | None
    autonomy: str | None
    user: str | None
    session: str | None
    many_sessions: bool | None
    attended: bool | None
    read_only: bool | None
    no_web: bool | None


class IssuedBody(CredentialBody):
    """A new credential, and its token, which is told this once."""

    token: str


@router.get("/me", responses={200: {"model": CredentialBody}})
async def me(shown: Anyone) -> Json:
    """Who shows this token, and what it lets them do."""
    return Json(credential_document(shown))


@router.get("/credentials", responses={200: {"model": Page[CredentialBody]}})
async def credentials(gate: Gate, _administrator: Administrator, *, limit: Limit = 50, cursor: Cursor = None) -> Json:
    """All credentials, ended ones too, the newest first. Tokens are not kept, so they cannot be told."""

    async def read(_size: int) -> list[Credential]:
        return await gate.credentials()

    found, further = await page(
        read, place=lambda each: ListPlace(each.created_at, each.id), limit=limit, cursor=cursor
    )
    return listed([credential_document(each) for each in found], further)


@router.post("/credentials/agents", status_code=201, responses={201: {"model": IssuedBody}})
async def admit_agent(asked: NewAgent, gate: Gate, administrator: Administrator) -> Json:
    """Let an agent in."""
    limits = asked.model_dump(exclude={"name", "seconds"})
    limits["scopes"] = None if asked.scopes is None else frozenset(asked.scopes)
    limits["autonomy"] = None if asked.autonomy is None else Autonomy[asked.autonomy]
    until = gate.in_seconds(asked.seconds)
    made, token = await gate.admit_agent(asked.name, by=administrator.name, expires_at=until, **limits)
    return Json(credential_document(made) | {"token": token}, status_code=201)


@router.post("/credentials/people", status_code=201, responses={201: {"model": IssuedBody}})
async def admit_person(asked: NewPerson, gate: Gate, administrator: Administrator) -> Json:
    """Let a person in."""
    until = gate.in_seconds(asked.seconds)
    made, token = await gate.admit_person(asked.name, by=administrator.name, rights=asked.rights, expires_at=until)
    return Json(credential_document(made) | {"token": token}, status_code=201)


@router.delete("/credentials/{credential_id}", responses={200: {"model": CredentialBody}})
async def revoke(credential_id: str, gate: Gate, administrator: Administrator) -> Json:
    """End a credential: its token and every visit made with it open nothing from now on."""
    return Json(credential_document(await gate.revoke_credential(credential_id, by=administrator.name)))
