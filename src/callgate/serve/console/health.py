"""Health: how much is called and how it ends, how long people are waited for, and whether what tools need works."""

from __future__ import annotations

import asyncio

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from callgate.model.credential import Right
from callgate.runtime.figures import SPANS, Figures
from callgate.serve.console.pages import page_for
from callgate.serve.console.visiting import Visitor, gate_of, visiting

_GOOD_FOR = 5.0
"""Seconds that figures are shown for while nothing happens."""


async def health(request: Request) -> Response:
    """The figures and the state of every connector; the charts ask for their own."""
    visitor = await visiting(request, Right.READ)
    found = await recent(request).of(request, visitor)
    return await page_for(
        request,
        visitor,
        "health.html",
        section="health",
        span=_span(request),
        spans=list(SPANS),
        total=found.total,
        share="" if found.share is None else f"{100 * found.share:.0f} %",
        ends=found.ends,
        waited=found.waited,
        took=found.took,
        tools=found.tools,
        connectors=gate_of(request).connectors(),
    )


async def figures(request: Request) -> Response:
    """What the charts draw: times, and a row of numbers for each line."""
    found = await recent(request).of(request, await visiting(request, Right.READ))
    return JSONResponse(
        {
            "times": found.times,
            "ends": dict(found.ended),
            "took": found.takes,
            "waited": found.waits,
            "tools": found.tools,
        }
    )


def recent(request: Request) -> Recent:
    """What was made for this console."""
    return request.app.state.recent


class Recent:
    """Figures that were just made: a page and its charts have the same, and while nothing happens so do others."""

    def __init__(self) -> None:
        self._made: dict[str, tuple[int, float, Figures]] = {}

    async def of(self, request: Request, visitor: Visitor) -> Figures:
        """Those of the time that is asked for, with everything in them that the visitor could know of."""
        span, now = _span(request), asyncio.get_running_loop().time()
        position, at, found = self._made.get(span, (0, 0.0, None))
        if found is None or position < visitor.position or now - at > _GOOD_FOR:
            back, step = SPANS[span]
            found = await gate_of(request).figures(back=back, step=step)
            self._made[span] = (visitor.position, now, found)
        return found


def _span(request: Request) -> str:
    asked = request.query_params.get("span", "")
    return asked if asked in SPANS else "24h"
