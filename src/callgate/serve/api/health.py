"""Health over HTTP: whether the server lives, whether it can work, and how the systems behind the tools are."""

from __future__ import annotations

import asyncio
from typing import Literal

from fastapi import APIRouter, Request
from pydantic import BaseModel
from starlette.responses import JSONResponse

from callgate.errors import CallgateError
from callgate.serve.api.tool_forms import HealthBody, health_body
from callgate.serve.entrants import Gate, Reader
from callgate.serve.problems import problem
from callgate.serve.wire import Json, StrictRoute

router = APIRouter(tags=["health"], route_class=StrictRoute)
open_router = APIRouter(tags=["health"], route_class=StrictRoute)
"""Routes that ask nobody who they are."""
_SECONDS = 5.0


class Alive(BaseModel):
    """The server answers."""

    status: Literal["alive"]


class Ready(BaseModel):
    """The server can work."""

    status: Literal["ready"]


class Connectors(BaseModel):
    """The systems behind the tools, by name; and how many tools, questions and open outcomes there are."""

    connectors: dict[str, HealthBody]
    tools: int
    pending: int
    unknown: int
    listeners: int


@open_router.get("/healthz", responses={200: {"model": Alive}})
async def alive() -> Json:
    """Whether the server lives."""
    return Json({"status": "alive"})


@open_router.get("/readyz", responses={200: {"model": Ready}})
async def ready(gate: Gate) -> JSONResponse:
    """Whether the server can work: its gate is open, and its store takes what is recorded."""
    try:
        async with asyncio.timeout(_SECONDS):
            await gate.flush()
            await gate.identify("")
    except (CallgateError, TimeoutError):
        return problem(503, "the store cannot be used now", code="not_ready", headers={"Retry-After": "5"})
    return Json({"status": "ready"})


@router.get("/health", responses={200: {"model": Connectors}})
async def health(request: Request, gate: Gate, _reader: Reader) -> Json:
    """How the systems behind the tools are, and what waits for a person."""
    waiting = await gate.open_counts()
    names = sorted({tool.connector or tool.name for tool in gate.tools()})
    return Json(
        {
            "connectors": {name: health_body(gate.health(name)) for name in names},
            "tools": len(gate.tools()),
            "pending": waiting.pending,
            "unknown": waiting.unknown,
            "listeners": request.app.state.listening.count,
        }
    )
