"""Outcomes over HTTP: what the ledger says of an agent's own key, and what people find out about the rest."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query, Response
from pydantic import Field

from callgate.errors import OutcomeConflict, OutcomeNotFound
from callgate.model.attempt import Attempt, AttemptState
from callgate.model.context import Context
from callgate.model.levels import Assurance
from callgate.runtime.gate import Callgate
from callgate.serve.api.asking import AskedContext, StrictBody, context_of
from callgate.serve.api.outcome_forms import OutcomeBody
from callgate.serve.api.paging import Cursor, Limit, Page, listed, page_behind
from callgate.serve.api.people_forms import AttemptBody, VerifiedBody, attempt_body
from callgate.serve.api.told import outcome_answer
from callgate.serve.entrants import Agent, Decider, Gate, Reader
from callgate.serve.wire import Json, StrictRoute

router = APIRouter(tags=["outcomes"], route_class=StrictRoute)
_State = Literal["open", "started", "succeeded", "failed", "unknown", "all"]


class Found(StrictBody):
    """What a person found who looked."""

    happened: bool
    note: str = Field(default="", max_length=20_000, description="How it was found out; recorded.")
    output: Any = Field(default=None, description="Where it happened: what the key answers with from now on.")


@router.get("/outcomes/key/{key:path}", responses={200: {"model": OutcomeBody}})
async def by_key(
    key: Annotated[str, Path(min_length=1, max_length=512)],
    gate: Gate,
    agent: Agent,
    session: Annotated[str | None, Query(min_length=1, max_length=512)] = None,
) -> Response:
    """What became of a key of this agent's. A call that still runs is refused with `in_flight`."""
    context = context_of(gate, agent, asked=AskedContext(session=session))
    outcome = await gate.outcome(key, context)
    if outcome is None:
        raise OutcomeNotFound("this key is free: nothing was done under it")
    return outcome_answer(outcome)


@router.get("/outcomes", responses={200: {"model": Page[AttemptBody]}})
async def outcomes(
    gate: Gate,
    _reader: Reader,
    *,
    state: Annotated[_State, Query(description="`open`: what somebody has to look for.")] = "open",
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Json:
    """Rows of the ledger, the newest first."""

    async def read(size: int, behind: str | None) -> list[Attempt]:
        if state == "open":
            return await gate.unknown_outcomes(limit=size, newest_first=True, behind=behind)
        wanted = None if state == "all" else AttemptState(state)
        return await gate.attempts(state=wanted, limit=size, newest_first=True, behind=behind)

    async def is_known(call: str) -> bool:
        return await gate.attempt_of_call(call) is not None

    found, further = await page_behind(
        read, name=lambda each: each.call_id, is_known=is_known, limit=limit, cursor=cursor
    )
    return listed([attempt_body(each) for each in found], further)


@router.get("/outcomes/{call_id}", responses={200: {"model": AttemptBody}})
async def outcome(call_id: str, gate: Gate, _reader: Reader) -> Json:
    """The row of one call."""
    return Json(attempt_body(await _row(gate, call_id)))


@router.post("/outcomes/{call_id}/verify", responses={200: {"model": VerifiedBody}})
async def verify(call_id: str, gate: Gate, _decider: Decider) -> Json:
    """Ask the tool itself whether it happened."""
    row = await _row(gate, call_id)
    if not row.open_question:
        raise OutcomeConflict(f"there is nothing to find out about the call {call_id}: it is {row.state.value}")
    answer = await gate.verify_outcome(row.key.key, _whose(row))
    return Json({"call_id": call_id, "tool": row.tool, "answer": answer})


@router.post("/outcomes/{call_id}/resolve", responses={200: {"model": OutcomeBody}})
async def resolve(call_id: str, said: Found, gate: Gate, decider: Decider) -> Response:
    """Say whether it happened, after looking. That it did not frees the key."""
    if said.output is not None and not said.happened:
        raise OutcomeConflict("what did not happen gave nothing back: leave the output out")
    row = await _row(gate, call_id)
    found = await gate.resolve(
        row.key.key,
        _whose(row),
        happened=said.happened,
        by=decider.name,
        call_id=call_id,
        note=said.note,
        output=said.output,
        assurance=Assurance.SIGNED_IN,
    )
    return outcome_answer(found)


async def _row(gate: Callgate, call_id: str) -> Attempt:
    row = await gate.attempt_of_call(call_id)
    if row is None:
        raise OutcomeNotFound(f"the ledger has no call {call_id}")
    return row


def _whose(row: Attempt) -> Context:
    return Context(principal=row.key.principal, session=row.key.session)
