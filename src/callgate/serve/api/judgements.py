"""Judgements over HTTP: for hosts that run their tools themselves, and ask first and tell afterwards."""

from __future__ import annotations

from fastapi import APIRouter, Response

from callgate.model.call import Call
from callgate.serve.api.asking import AskedJudgement, AskedReport, context_of
from callgate.serve.api.calls import Key
from callgate.serve.api.outcome_forms import JudgementBody, OutcomeBody, judgement_body
from callgate.serve.api.own import need_own_call
from callgate.serve.api.told import outcome_answer
from callgate.serve.entrants import Agent, Gate
from callgate.serve.wire import Json, StrictRoute

router = APIRouter(tags=["judgements"], route_class=StrictRoute)


@router.post("/judgements", responses={200: {"model": JudgementBody}})
async def judge(asked: AskedJudgement, gate: Gate, agent: Agent, key: Key = None) -> Json:
    """Decide about a tool that its host runs itself; `allowed` says whether it may, and a report settles it."""
    context = context_of(gate, agent, asked=asked.context, key=key)
    found = await gate.judge(Call(asked.tool, asked.arguments), context, wait=asked.wait)
    return Json(judgement_body(asked.tool, found))


@router.post("/judgements/{judgement_id}/report", responses={200: {"model": OutcomeBody}})
async def report(judgement_id: str, said: AskedReport, gate: Gate, agent: Agent) -> Response:
    """Say what became of a judged call. The same again is answered the same."""
    await need_own_call(gate, agent, judgement_id)
    return outcome_answer(await gate.report(judgement_id, ok=said.ok, output=said.output, error=said.error))
