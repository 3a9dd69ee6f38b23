"""The record over HTTP: whether it holds, and packed so that it verifies on another machine."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel
from starlette.responses import StreamingResponse

from callgate.serve.api.events import Name, Types
from callgate.serve.entrants import Gate, Reader
from callgate.serve.whole_record import WholeRecord
from callgate.serve.wire import Json, StrictRoute

router = APIRouter(tags=["record"], route_class=StrictRoute)
Moment = Annotated[float | None, Query(ge=0, le=253_402_300_800, allow_inf_nan=False)]
_ZIP: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The package; `callgate evidence verify` checks it.",
        "content": {"application/zip": {"schema": {"type": "string", "format": "binary"}}},
    }
}


class PlaceBody(BaseModel):
    """An event's place: its stream, and its number in it."""

    stream: str
    sequence: int


class ReportBody(BaseModel):
    """Whether the record is as it was written, and how far that is proven."""

    ok: bool
    events: int
    streams: dict[str, int]
    broken_at: PlaceBody | None
    problems: list[str]
    notes: list[str]
    signed_until: float | None
    unsigned: int
    anchored_until: float | None
    unanchored_since: float | None
    keys: list[str]


@router.post("/audit/verify", responses={200: {"model": ReportBody}})
async def verify(request: Request, gate: Gate, _reader: Reader) -> Json:
    """Whether the record is as it was written; `ok` says it, `problems` what is wrong."""
    async with _whole_record(request).turn:
        return Json((await gate.verify_audit()).to_json())


@router.get("/evidence", response_class=StreamingResponse, responses=_ZIP)
async def evidence(
    request: Request,
    _reader: Reader,
    *,
    types: Types = [],  # noqa: B006 - it is only read
    trace: Name = None,
    call: Name = None,
    since: Moment = None,
    until: Moment = None,
) -> StreamingResponse:
    """The record, or the part that is chosen, as a package that verifies without the store or its keys."""
    chosen: dict[str, Any] = {"types": tuple(types), "trace_id": trace, "call_id": call, "since": since, "until": until}
    return await _whole_record(request).packed(**chosen)


def _whole_record(request: Request) -> WholeRecord:
    return request.app.state.whole_record
