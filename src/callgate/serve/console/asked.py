"""Asked: what a browser may tell of a new question in a notification. Who asks for what; nothing of the arguments."""

from __future__ import annotations

import re

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from callgate.errors import ApprovalConflict, ApprovalNotFound
from callgate.model.approval import Approval
from callgate.model.credential import Right
from callgate.model.visible import one_line
from callgate.runtime.gate import Callgate
from callgate.serve.console.questions import is_open
from callgate.serve.console.visiting import gate_of, visiting

_POSITION = re.compile(r"[0-9]{1,18}")
_LONGEST = 80
_SHOWN = 20
_ASKED = ("gate.required",)


async def asked(request: Request) -> Response:
    """The questions that came after a place in the record and still wait, the newest few, oldest first."""
    await visiting(request, Right.READ, Right.DECIDE)
    gate = gate_of(request)
    shown = request.query_params.get("after", "")
    after = int(shown) if _POSITION.fullmatch(shown) else 0
    named = [(event.payload or {}).get("approval_id") async for event in gate.events(types=_ASKED, after=after)]
    found = [await _decidable(gate, which) for which in named[-_SHOWN:] if which]
    waiting = {each.id: each for each in found if each is not None and is_open(each)}
    return JSONResponse({"asked": [_told(each) for each in waiting.values()]})


async def _decidable(gate: Callgate, which: str) -> Approval | None:
    """The question that people answer: of a call of a plan, the plan; None where it is none any more."""
    try:
        found = await gate.approval(which)
        return found if found.part is None else await gate.approval(found.part.plan_id)
    except (ApprovalConflict, ApprovalNotFound):
        return None


def _told(approval: Approval) -> dict[str, str]:
    what = f"{len(approval.calls)} calls" if approval.is_plan else _short(approval.tool)
    whom = f" for {_short(approval.user)}" if approval.user else ""
    return {
        "id": approval.id,
        "title": f"{what}: a person has to decide",
        "text": f"{approval.risk.label} risk, asked by {_short(approval.principal)}{whom}",
    }


def _short(name: str) -> str:
    """A name of others: on one line, hidden characters visible, and not longer than a notification has room for."""
    shown = one_line(name)
    return shown if len(shown) <= _LONGEST else f"{shown[: _LONGEST - 1]}…"
