"""Unknown outcomes: calls nobody knows the end of, asking the tool, and saying what was found by looking."""

from __future__ import annotations

from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from callgate.errors import OutcomeConflict
from callgate.model.attempt import Attempt
from callgate.model.canonical import NotCanonical, loads
from callgate.model.context import Context
from callgate.model.credential import Right
from callgate.model.levels import Assurance
from callgate.runtime.gate import Callgate
from callgate.serve.console.pages import page_for
from callgate.serve.console.visiting import Sent, Visitor, gate_of, sent, visiting

_SHOWN = 200
_ANSWERS = {
    "happened": "The tool says that it happened. The key answers with that from now on.",
    "absent": "The tool says that it did not happen. The key is free again.",
    "cannot_tell": "The tool cannot tell. Look for yourself, then say what you found.",
}


async def outcomes(request: Request) -> Response:
    """What somebody has to look at, the newest first."""
    visitor = await visiting(request, Right.READ)
    found = await gate_of(request).unknown_outcomes(limit=_SHOWN, newest_first=True)
    return await page_for(request, visitor, "outcomes.html", section="outcomes", rows=found)


async def show(request: Request) -> Response:
    """One of them; a call that is known by now has its story."""
    visitor = await visiting(request, Right.READ)
    row = await _row(gate_of(request), request.path_params["call"])
    if row is None:
        return RedirectResponse(f"/calls/{request.path_params['call']}", status_code=303)
    return await _page(request, visitor, row)


async def settle(request: Request) -> Response:
    """Ask the tool, or take what a person found."""
    found = await sent(request, Right.DECIDE)
    gate, which = gate_of(request), request.path_params["call"]
    row = await _row(gate, which)
    if row is None:
        raise HTTPException(404)
    context = Context(principal=row.key.principal, session=row.key.session)
    if found.text("answer") == "verify":
        said = await gate.verify_outcome(row.key.key, context)
        if said == "cannot_tell":
            return await _page(request, found.visitor, row, said=_ANSWERS[said])
        return RedirectResponse(f"/calls/{which}", status_code=303)
    try:
        await _resolve(gate, row, found)
    except (OutcomeConflict, ValueError) as error:
        return await _page(request, found.visitor, row, wrong=str(error), status=409)
    return RedirectResponse(f"/calls/{which}", status_code=303)


async def _resolve(gate: Callgate, row: Attempt, found: Sent) -> None:
    answer = found.text("answer")
    if answer not in {"happened", "absent"}:
        message = "say what you found: that it happened, or that it did not"
        raise ValueError(message)
    await gate.resolve(
        row.key.key,
        Context(principal=row.key.principal, session=row.key.session),
        happened=answer == "happened",
        by=found.visitor.name,
        call_id=row.call_id,
        note=found.text("note").strip(),
        output=_output(found.text("output")) if answer == "happened" else None,
        assurance=Assurance.SIGNED_IN,
    )


def _output(typed: str) -> Any:
    if not typed.strip():
        return None
    try:
        return loads(typed)
    except (NotCanonical, ValueError) as error:
        message = f"the output is no JSON: {error}"
        raise ValueError(message) from None


async def _row(gate: Callgate, call: str) -> Attempt | None:
    row = await gate.attempt_of_call(call)
    return row if row is not None and row.open_question else None


async def _page(request: Request, visitor: Visitor, row: Attempt, *, status: int = 200, **shown: str) -> Response:
    known = {"wrong": "", "said": ""} | shown
    return await page_for(request, visitor, "outcome.html", status=status, section="outcomes", row=row, **known)
