"""The record over HTTP: whether it holds, and packed so that it verifies on another machine."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, BinaryIO

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel
from starlette.responses import StreamingResponse

from callgate.serve.api.events import Name, Types
from callgate.serve.entrants import Gate, Reader
from callgate.serve.wire import Json, StrictRoute

router = APIRouter(tags=["record"], route_class=StrictRoute)
Moment = Annotated[float | None, Query(ge=0, le=253_402_300_800, allow_inf_nan=False)]
_ZIP: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The package; `callgate evidence verify` checks it.",
        "content": {"application/zip": {"schema": {"type": "string", "format": "binary"}}},
    }
}
_AT_ONCE = 256 * 1024


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
    async with _turn(request):
        return Json((await gate.verify_audit()).to_json())


@router.get("/evidence", response_class=StreamingResponse, responses=_ZIP)
async def evidence(
    request: Request,
    gate: Gate,
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
    with tempfile.TemporaryDirectory(prefix="callgate-evidence-") as folder:
        made = Path(folder) / "evidence.zip"
        async with _turn(request):
            await gate.export_evidence(made, **chosen)
        # It has no name any more when it is sent: whoever leaves in the middle leaves nothing behind.
        handle = made.open("rb")
    size = os.fstat(handle.fileno()).st_size
    headers = {"Content-Disposition": 'attachment; filename="callgate-evidence.zip"', "Content-Length": str(size)}
    return StreamingResponse(_sent(handle), media_type="application/zip", headers=headers)


def _sent(handle: BinaryIO) -> Iterator[bytes]:
    with handle:
        while part := handle.read(_AT_ONCE):
            yield part


def _turn(request: Request) -> asyncio.Semaphore:
    """Both read the whole record: however many ask, the store does it for one of them at a time."""
    return request.app.state.whole_record
