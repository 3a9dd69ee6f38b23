"""Calls over HTTP: what agents do here."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Header
from starlette.responses import JSONResponse

from callgate.serve.api.asking import AskedCall, context_of
from callgate.serve.api.told import outcome_answer
from callgate.serve.entrants import Agent, Gate

router = APIRouter(tags=["calls"])
Key = Annotated[str | None, Header(alias="Idempotency-Key", min_length=1, max_length=512)]


@router.post("/calls")
async def call(asked: AskedCall, gate: Gate, agent: Agent, key: Key = None) -> JSONResponse:
    """Call a tool through the gate and say how it ended."""
    context = context_of(gate, agent, asked=asked.context, key=key)
    outcome = await gate.call(
        asked.tool, asked.arguments, context, wait=asked.wait, timeout=asked.timeout, distinct=asked.distinct
    )
    return outcome_answer(outcome)
