"""Replay: what the policy in force would have said to the calls of before. Runs and records nothing."""

from __future__ import annotations

import time

from starlette.requests import Request
from starlette.responses import Response

from callgate.model.credential import Right
from callgate.serve.console.pages import page_for
from callgate.serve.console.visiting import gate_of, visiting

_SPANS = {"1h": 3600.0, "24h": 86_400.0, "7d": 7 * 86_400.0}
_SHOWN = 200
_REPLAYED = 2000
"""Calls that are decided again for one page; the command line takes as many as there are."""


async def replay(request: Request) -> Response:
    """The calls that would be decided otherwise now, asked about or denied, and those that are undecidable."""
    visitor = await visiting(request, Right.READ)
    asked = request.query_params.get("span", "")
    span = asked if asked in _SPANS else "1h"
    gate, since = gate_of(request), time.time() - _SPANS[span]
    found = (await gate.replay(since=since, limit=_REPLAYED))[::-1]
    changed = [each for each in found if each.changed]
    undecidable = [each for each in found if each.now is None]
    held = [each for each in found if each.now not in {None, "allow"} and not each.changed]
    unasked = [each for each in held if each.unasked]
    asked_too = [each for each in held if not each.unasked]
    return await page_for(
        request,
        visitor,
        "replay.html",
        section="policy",
        span=span,
        spans=list(_SPANS),
        total=len(found),
        left_out=max(0, await gate.call_count(since=since) - _REPLAYED),
        same=len(found) - len(changed) - len(undecidable),
        changed=changed[:_SHOWN],
        unasked=unasked[:_SHOWN],
        held=asked_too[:_SHOWN],
        undecidable=undecidable[:_SHOWN],
        counts_of={"changed": len(changed), "unasked": len(unasked), "undecidable": len(undecidable)},
    )
