"""Approvals over HTTP: people decide, signed in by their token; the agent that asked looks, withdraws and collects."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Response
from pydantic import Field

from callgate.errors import ApprovalConflict, ApprovalNotFound
from callgate.model.approval import Approval, ApprovalState
from callgate.model.credential import Credential, CredentialKind, Right
from callgate.model.levels import Assurance
from callgate.runtime.gate import Callgate
from callgate.serve.api.asking import StrictBody
from callgate.serve.api.outcome_forms import OutcomeBody
from callgate.serve.api.own import asker_of, collector_of, is_own_question, own_question
from callgate.serve.api.paging import Cursor, Limit, Page, listed, page_behind
from callgate.serve.api.people_forms import ApprovalBody, QuestionBody, approval_body, question_body
from callgate.serve.api.told import outcome_answer
from callgate.serve.entrants import Agent, Anyone, Decider, Gate
from callgate.serve.who import need_right
from callgate.serve.wire import Json, StrictRoute

router = APIRouter(tags=["approvals"], route_class=StrictRoute)
_SIGNED_IN = Assurance.SIGNED_IN
_State = Literal["pending", "approved", "used", "rejected", "answered", "expired", "withdrawn", "void", "all"]
_SEEN: dict[int | str, dict[str, Any]] = {200: {"model": ApprovalBody | QuestionBody}}
_DECIDED: dict[int | str, dict[str, Any]] = {200: {"model": ApprovalBody}}


_SEEN_AS = Field(default=None, max_length=64, description="The `digest` of the question as it was looked at.")


class Yes(StrictBody):
    """A yes; with `arguments`, to the call with these instead."""

    arguments: dict[str, Any] | None = None
    digest: str | None = _SEEN_AS


class Edit(StrictBody):
    """What a person would change the arguments to."""

    arguments: dict[str, Any]


class No(StrictBody):
    """A no, and why; the model is told."""

    why: str = Field(default="", max_length=20_000)
    digest: str | None = _SEEN_AS


class Answer(StrictBody):
    """What the model is told instead of letting the call run."""

    text: str = Field(min_length=1, max_length=100_000)
    digest: str | None = _SEEN_AS


class Collect(StrictBody):
    """How long to wait for a person who has not decided yet."""

    wait: float | None = Field(default=None, ge=0, le=60)


_YES, _NO, _AT_ONCE = Yes(), No(), Collect()
"""Bodies that may be left out."""


@router.get("/approvals", responses={200: {"model": Page[ApprovalBody] | Page[QuestionBody]}})
async def approvals(
    gate: Gate,
    shown: Anyone,
    *,
    state: Annotated[_State, Query(description="In which state; `all` for any.")] = "pending",
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Json:
    """Questions, the newest first: to people all of them, to an agent its own."""
    own = shown.kind is CredentialKind.AGENT
    if not own:
        need_right(shown, Right.READ)
    states = None if state == "all" else (ApprovalState(state),)
    whose = asker_of(shown) if own else {}

    async def read(size: int, behind: str | None) -> list[Approval]:
        return await gate.approvals(states=states, **whose, behind=behind, limit=size, newest_first=True)

    found, further = await page_behind(
        read,
        name=lambda each: each.id,
        is_known=partial(_is_known, gate, shown if own else None),
        limit=limit,
        cursor=cursor,
        keep=lambda each: not own or is_own_question(shown, each),
    )
    return listed([question_body(each) if own else approval_body(each) for each in found], further)


async def _is_known(gate: Callgate, agent: Credential | None, question: str) -> bool:
    try:
        await (gate.approval(question) if agent is None else own_question(gate, agent, question))
    except ApprovalNotFound:
        return False
    except ApprovalConflict:  # void by now, and still in its place
        return True
    return True


@router.get("/approvals/{approval_id}", responses=_SEEN)
async def approval(approval_id: str, gate: Gate, shown: Anyone) -> Json:
    """One question as it stands."""
    if shown.kind is CredentialKind.AGENT:
        return Json(question_body(await own_question(gate, shown, approval_id)))
    need_right(shown, Right.READ)
    return Json(approval_body(await gate.approval(approval_id)))


@router.post("/approvals/{approval_id}/approve", responses=_DECIDED)
async def approve(approval_id: str, gate: Gate, decider: Decider, said: Yes = _YES) -> Json:
    """Say yes; with `arguments`, to the call with these instead. Deciding runs nothing: collecting does."""
    decided = await gate.approve(
        approval_id, by=decider.name, arguments=said.arguments, assurance=_SIGNED_IN, digest=said.digest
    )
    return Json(approval_body(decided))


@router.post("/approvals/{approval_id}/preview", responses=_DECIDED)
async def preview(approval_id: str, said: Edit, gate: Gate, _decider: Decider) -> Json:
    """The question as an edit would leave it, and what would happen then. Decides nothing."""
    return Json(approval_body(await gate.preview_edit(approval_id, said.arguments)))


@router.post("/approvals/{approval_id}/reject", responses=_DECIDED)
async def reject(approval_id: str, gate: Gate, decider: Decider, said: No = _NO) -> Json:
    """Say no."""
    decided = await gate.reject(approval_id, by=decider.name, why=said.why, assurance=_SIGNED_IN, digest=said.digest)
    return Json(approval_body(decided))


@router.post("/approvals/{approval_id}/respond", responses=_DECIDED)
async def respond(approval_id: str, said: Answer, gate: Gate, decider: Decider) -> Json:
    """Answer the model instead of letting the call run."""
    decided = await gate.respond(approval_id, by=decider.name, text=said.text, assurance=_SIGNED_IN, digest=said.digest)
    return Json(approval_body(decided))


@router.post("/approvals/{approval_id}/withdraw", responses={200: {"model": QuestionBody}})
async def withdraw(approval_id: str, gate: Gate, agent: Agent) -> Json:
    """The agent that asked does not want it any more."""
    await own_question(gate, agent, approval_id)
    return Json(question_body(await gate.withdraw(approval_id)))


@router.post(
    "/approvals/{approval_id}/result",
    responses={200: {"model": OutcomeBody}, 202: {"model": OutcomeBody, "description": "Nobody has decided yet."}},
)
async def result(approval_id: str, gate: Gate, agent: Agent, said: Collect = _AT_ONCE) -> Response:
    """Make the call that was asked about, once it is decided, and say how it ended; only for the agent that asked."""
    found = await own_question(gate, agent, approval_id)
    return outcome_answer(await gate.resume(approval_id, collector_of(gate, agent, found), wait=said.wait))
