"""Every route of the API, in one place."""

from __future__ import annotations

from fastapi import FastAPI

from callgate.serve.api import (
    approvals,
    calls,
    credentials,
    events,
    grants,
    health,
    judgements,
    outcomes,
    policy,
    record,
    tools,
    trust,
)
from callgate.serve.api.described import describe

API = "/api/v1"
_ROOMS = (
    calls,
    judgements,
    approvals,
    grants,
    outcomes,
    tools,
    trust,
    policy,
    events,
    record,
    credentials,
    health,
)


def install(app: FastAPI) -> None:
    """Put the API into an app."""
    for room in _ROOMS:
        app.include_router(room.router, prefix=API)
    app.include_router(health.open_router)
    describe(app)
