"""Calls: who called what and how it ended, and one call's story, step by step."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from callgate.model.call import CALL_STATUSES
from callgate.model.credential import Right
from callgate.model.levels import Verdict
from callgate.runtime.gate import Callgate
from callgate.serve.console.pages import page_for
from callgate.serve.console.story import Step, step_of
from callgate.serve.console.taught import taught
from callgate.serve.console.visiting import gate_of, visiting

_FILTERS = ("tool", "status", "principal", "session", "trace")
_PAGE = 50
_PAGES = 200
_LONGEST = 512


async def calls(request: Request) -> Response:
    """A page of calls, the newest first; what is looked for stands in the address."""
    visitor = await visiting(request, Right.READ)
    chosen = {name: request.query_params.get(name, "").strip()[:_LONGEST] for name in _FILTERS}
    equal = {name: value for name, value in chosen.items() if value}
    number = _number(request.query_params.get("page", ""))
    found = await gate_of(request).calls(limit=_PAGE + 1, skip=(number - 1) * _PAGE, **equal)
    newest = found[::-1]
    return await page_for(
        request,
        visitor,
        "calls.html",
        section="calls",
        calls=newest[:_PAGE],
        chosen=chosen,
        filtered=bool(equal),
        statuses=CALL_STATUSES,
        newer=_address(equal, number - 1) if number > 1 else "",
        command="" if found or equal or number > 1 else await taught(request, Verdict.ALLOW),
        older=_address(equal, number + 1) if len(newest) > _PAGE and number < _PAGES else "",
    )


async def story(request: Request) -> Response:
    """Everything that was recorded of one call, in order."""
    visitor = await visiting(request, Right.READ)
    gate, which = gate_of(request), request.path_params["id"]
    call: dict[str, Any] = await gate.call_entry(which) or {}
    asked = call.get("approval_id")
    # What a person let through may have run under a later call: the story is that of both.
    others = [] if asked is None else await gate.calls(approval_id=asked)
    steps = await _steps(gate, {which, *(each["call"] for each in others)})
    if not steps:
        raise HTTPException(404)
    ended = [each for each in others if each["status"] != "resumed"]
    return await page_for(
        request,
        visitor,
        "call.html",
        section="calls",
        which=which,
        steps=steps,
        call=ended[-1] if ended else call,
        trace=steps[0].trace,
    )


async def _steps(gate: Callgate, calls: set[str]) -> list[Step]:
    found = [event for call in sorted(calls) async for event in gate.events(call_id=call)]
    return [step_of(event) for event in sorted(found, key=lambda event: event.position)]


def _number(text: str) -> int:
    return min(max(int(text), 1), _PAGES) if text.isdecimal() and len(text) < len(str(_PAGES)) + 1 else 1


def _address(equal: dict[str, str], number: int) -> str:
    return "/calls?" + urlencode(equal | ({"page": str(number)} if number > 1 else {}))
