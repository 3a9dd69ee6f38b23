"""Evidence: whether the record is as it was written, and the record packed for somebody else."""

from __future__ import annotations

import time
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from callgate.model.credential import Right
from callgate.serve.console.pages import page_for
from callgate.serve.console.visiting import gate_of, sent, visiting
from callgate.serve.whole_record import WholeRecord

_DAY = 86_400.0
_SPANS = {"all": None, "day": _DAY, "week": 7 * _DAY, "month": 30 * _DAY}
_NEWEST = 20


async def evidence(request: Request) -> Response:
    """What can be proven, and the newest of what was recorded."""
    visitor = await visiting(request, Right.READ)
    newest = (await gate_of(request).newest_events(_NEWEST))[::-1]
    return await page_for(
        request, visitor, "evidence.html", section="evidence", report=None, newest=newest, spans=list(_SPANS)
    )


async def verify(request: Request) -> Response:
    """Find whatever was edited, removed, reordered or put back."""
    found = await sent(request, Right.READ)
    gate = gate_of(request)
    async with _whole_record(request).turn:
        report = await gate.verify_audit()
    newest = (await gate.newest_events(_NEWEST))[::-1]
    return await page_for(
        request, found.visitor, "evidence.html", section="evidence", report=report, newest=newest, spans=list(_SPANS)
    )


async def export(request: Request) -> Response:
    """The record, or a part of it, in one file that verifies on another machine."""
    found = await sent(request, Right.READ)
    chosen: dict[str, Any] = {}
    back = _SPANS.get(found.text("span"))
    if back is not None:
        chosen["since"] = time.time() - back
    if found.text("trace").strip():
        chosen["trace_id"] = found.text("trace").strip()
    return await _whole_record(request).packed(**chosen)


def _whole_record(request: Request) -> WholeRecord:
    return request.app.state.whole_record
