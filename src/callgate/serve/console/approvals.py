"""Approvals: what waits for a person, one question with everything that bears on it, and the answer."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from callgate.errors import ApprovalConflict, AssuranceTooLow, Refusal
from callgate.model.approval import Approval, ApprovalState
from callgate.model.credential import Right
from callgate.model.levels import Assurance, Verdict
from callgate.model.person import is_own_agent
from callgate.runtime.gate import Callgate
from callgate.serve.console.pages import page_for
from callgate.serve.console.questions import (
    brief_lines,
    calls_asked,
    confirmed_by,
    edit_of,
    editable,
    is_open,
)
from callgate.serve.console.taught import taught
from callgate.serve.console.visiting import Sent, Visitor, gate_of, sent, visiting

_SIGNED_IN = Assurance.SIGNED_IN
_SHOWN = 100
_DECIDED = 8
_BEFORE = 8
_ENDED = frozenset(ApprovalState) - {ApprovalState.PENDING}


async def inbox(request: Request) -> Response:
    """What waits, oldest first, and what was decided last."""
    visitor = await visiting(request, Right.READ, Right.DECIDE)
    gate = gate_of(request)
    waiting = await gate.approvals(limit=_SHOWN)
    decided = await gate.approvals(states=_ENDED, limit=_DECIDED, newest_first=True)
    return await page_for(
        request,
        visitor,
        "inbox.html",
        section="approvals",
        waiting=waiting,
        decided=decided,
        brief_lines=brief_lines,
        command="" if waiting or decided else await taught(request, Verdict.CONFIRM),
    )


async def show(request: Request) -> Response:
    """One question; that of a call of a plan is the plan."""
    visitor = await visiting(request, Right.READ, Right.DECIDE)
    found = await gate_of(request).approval(request.path_params["id"])
    if found.part is not None:
        return RedirectResponse(f"/approvals/{found.part.plan_id}", status_code=303)
    return await _page(request, visitor, found)


async def standing(request: Request) -> Response:
    """Whether a question still stands as the page shows it: nothing to do, or the page is loaded again."""
    await visiting(request, Right.READ, Right.DECIDE)
    found = await gate_of(request).approval(request.path_params["id"])
    if request.query_params.get("seen") == _mark(found):
        return Response(status_code=204)
    return Response(status_code=200, headers={"HX-Refresh": "true"})


async def decide(request: Request) -> Response:
    """Take an answer: approve, reject, respond; an edit is shown first, and approved as it was shown."""
    found = await sent(request, Right.DECIDE)
    gate, which = gate_of(request), request.path_params["id"]
    answer = found.text("answer")
    try:
        if answer in {"edit", "approve_edit"}:
            return await _edit(request, found, which)
        await _answer(gate, which, found)
    except (ApprovalConflict, AssuranceTooLow, Refusal) as error:
        return await _page(request, found.visitor, await gate.approval(which), wrong=str(error), status=409)
    return RedirectResponse(f"/approvals/{which}", status_code=303)


async def _answer(gate: Callgate, which: str, found: Sent) -> Approval:
    by, answer = found.visitor.name, found.text("answer")
    if answer == "approve":
        # A form that does not say what was seen fits no question.
        return await gate.approve(which, by=by, assurance=_SIGNED_IN, digest=found.text("seen"))
    if answer == "reject":
        return await gate.reject(which, by=by, why=found.text("why").strip(), assurance=_SIGNED_IN)
    if answer == "respond":
        return await gate.respond(which, by=by, text=found.text("text").strip(), assurance=_SIGNED_IN)
    raise ApprovalConflict("choose an answer: approve, reject, edit or respond")


async def _edit(request: Request, found: Sent, which: str) -> Response:
    """What an edit would do is seen before it is approved; where that changed meanwhile, it is seen again."""
    gate, typed = gate_of(request), found.text("arguments")
    try:
        arguments = edit_of(typed)
        shown = await gate.preview_edit(which, arguments)
    except (ValueError, Refusal) as error:
        asked = await gate.approval(which)
        return await _page(request, found.visitor, asked, wrong=str(error), typed=typed, status=422)
    seen = found.text("answer") == "approve_edit" and found.text("seen") == shown.digest
    if not seen:
        mark = _mark(await gate.approval(which))
        return await _page(request, found.visitor, shown, typed=typed, edit=True, mark=mark)
    by = found.visitor.name
    await gate.approve(which, by=by, arguments=arguments, assurance=_SIGNED_IN, digest=shown.digest)
    return RedirectResponse(f"/approvals/{which}", status_code=303)


async def _page(request: Request, visitor: Visitor, approval: Approval, *, status: int = 200, **shown: Any) -> Response:
    gate = gate_of(request)
    others = [each for each in await gate.approvals(limit=_SHOWN) if each.id != approval.id]
    known: dict[str, Any] = {"wrong": "", "typed": None, "edit": False, "mark": _mark(approval)} | shown
    if known["typed"] is None:
        known["typed"] = "" if approval.is_plan else editable(approval)
    return await page_for(
        request,
        visitor,
        "approval.html",
        status=status,
        section="approvals",
        approval=approval,
        asked=calls_asked(approval),
        confirmed_by=confirmed_by(approval),
        waits=is_open(approval),
        own=is_own_agent(visitor.name, approval.principal),
        before=await gate.before(approval, limit=_BEFORE),
        following=others[0] if others else None,
        waiting_besides=len(others),
        **known,
    )


def _mark(approval: Approval) -> str:
    return f"{approval.state.value}-{len(approval.votes)}-{approval.digest}"
