"""Health: how much is called and how it ends, how long people are waited for, and whether what tools need works."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from callgate.model.credential import Right
from callgate.runtime.figures import SPANS, Figures
from callgate.serve.console.pages import page_for
from callgate.serve.console.visiting import gate_of, visiting


async def health(request: Request) -> Response:
    """The figures and the state of every connector; the charts ask for their own."""
    visitor = await visiting(request, Right.READ)
    found = await _figures(request)
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
    await visiting(request, Right.READ)
    found = await _figures(request)
    return JSONResponse(
        {
            "times": found.times,
            "ends": dict(found.ended),
            "took": found.takes,
            "waited": found.waits,
            "tools": found.tools,
        }
    )


async def _figures(request: Request) -> Figures:
    back, step = SPANS[_span(request)]
    return await gate_of(request).figures(back=back, step=step)


def _span(request: Request) -> str:
    asked = request.query_params.get("span", "")
    return asked if asked in SPANS else "24h"
