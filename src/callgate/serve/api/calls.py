"""Calls over HTTP: what agents do here, and what people read of it."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Response

from callgate.errors import NotFound
from callgate.model.call import Call, CallStatus
from callgate.model.credential import Credential, CredentialKind, Right
from callgate.runtime.gate import Callgate
from callgate.runtime.outcome_form import outcome_to_json
from callgate.serve.api.asking import AskedBatch, AskedCall, AskedTool, context_of
from callgate.serve.api.outcome_forms import (
    BatchBody,
    CallBody,
    CallEntryBody,
    CallStoryBody,
    DecisionBody,
    OutcomeBody,
    decision_body,
    entry_body,
    errand_body,
)
from callgate.serve.api.own import is_own
from callgate.serve.api.paging import Cursor, Limit, Page, listed, page_behind
from callgate.serve.api.told import outcome_answer
from callgate.serve.entrants import Agent, Anyone, Gate, Reader
from callgate.serve.who import need_right
from callgate.serve.wire import Json, StrictRoute

router = APIRouter(tags=["calls"], route_class=StrictRoute)
Key = Annotated[str | None, Header(alias="Idempotency-Key", min_length=1, max_length=512)]
Prefer = Annotated[str | None, Header(description="`respond-async` begins the call and does not wait for it.")]
_Equal = Annotated[str | None, Query(min_length=1, max_length=512)]
_ASYNC = "respond-async"
_WAITS = {202: {"model": OutcomeBody | CallBody, "description": "A person has to decide first, or it was only begun."}}


@router.post("/calls", responses={200: {"model": OutcomeBody}, **_WAITS})
async def call(asked: AskedCall, gate: Gate, agent: Agent, key: Key = None, prefer: Prefer = None) -> Response:
    """Call a tool through the gate and say how it ended; with `Prefer: respond-async`, begin it and say its id."""
    context = context_of(gate, agent, asked=asked.context, key=key)
    if prefer is not None and _ASYNC in (word.strip().lower() for word in prefer.split(",")):
        begun = gate.begin(
            Call(asked.tool, asked.arguments, distinct=asked.distinct, timeout=asked.timeout), context, wait=asked.wait
        )
        headers = {"Location": f"/api/v1/calls/{begun.id}", "Preference-Applied": _ASYNC}
        return Json(errand_body(begun), status_code=202, headers=headers)
    outcome = await gate.call(
        asked.tool, asked.arguments, context, wait=asked.wait, timeout=asked.timeout, distinct=asked.distinct
    )
    return outcome_answer(outcome)


@router.post("/calls/batch", responses={200: {"model": BatchBody}})
async def batch(asked: AskedBatch, gate: Gate, agent: Agent) -> Json:
    """Make several calls; each ends as it would alone, and one failure is never another's."""
    context = context_of(gate, agent, asked=asked.context)
    made = await gate.batch([each.call() for each in asked.calls], context, include_call_ids=True)
    return Json({"outcomes": [{"id": name, "outcome": outcome_to_json(outcome)} for name, outcome in made]})


@router.post("/calls/explain", responses={200: {"model": DecisionBody}})
async def explain(asked: AskedTool, gate: Gate, agent: Agent, key: Key = None) -> Json:
    """What would be decided about a call of this agent's and why. Nothing is done or recorded."""
    context = context_of(gate, agent, asked=asked.context, key=key)
    return Json(decision_body(asked.tool, await gate.explain(asked.tool, asked.arguments, context)))


@router.get("/calls", responses={200: {"model": Page[CallEntryBody]}})
async def calls(
    gate: Gate,
    _reader: Reader,
    *,
    limit: Limit = 50,
    cursor: Cursor = None,
    tool: _Equal = None,
    principal: _Equal = None,
    session: _Equal = None,
    status: Annotated[CallStatus | None, Query()] = None,
) -> Json:
    """Calls in the record, the newest first."""
    wanted = {"tool": tool, "principal": principal, "session": session, "status": status}
    equal: dict[str, Any] = {name: value for name, value in wanted.items() if value is not None}

    async def read(size: int, behind: str | None) -> list[dict[str, Any]]:
        return sorted(await gate.calls(limit=size, earlier_than=behind, **equal), key=_name, reverse=True)

    async def is_known(call: str) -> bool:
        return await gate.call_entry(call) is not None

    found, further = await page_behind(read, name=_name, is_known=is_known, limit=limit, cursor=cursor)
    return listed(found, further)


@router.get("/calls/{call_id}", responses={200: {"model": CallBody | CallStoryBody}})
async def one_call(call_id: str, gate: Gate, shown: Anyone) -> Json:
    """A call as it stands: to the agent that made it with its outcome, to a person as the record has it."""
    if shown.kind is CredentialKind.AGENT:
        return Json(await _own_call(gate, shown, call_id))
    need_right(shown, Right.READ)
    entry = await gate.call_entry(call_id)
    if entry is None:
        raise _no_call(call_id)
    return Json({"call": entry, "invocation": await gate.invocation(call_id)})


async def _own_call(gate: Callgate, agent: Credential, call_id: str) -> dict[str, Any]:
    begun = gate.errand(call_id)
    if begun is not None and is_own(agent, begun.context.principal, begun.context.session):
        return errand_body(begun)
    entry = await gate.call_entry(call_id)
    if entry is None or not is_own(agent, entry.get("principal"), entry.get("session")):
        raise _no_call(call_id)
    return entry_body(entry, await gate.outcome_of_call(call_id))


def _no_call(call_id: str) -> NotFound:
    return NotFound(f"no call has the id {call_id}")


def _name(entry: dict[str, Any]) -> str:
    return str(entry["call"])
