"""Coverage: what goes through this gate, who calls through it, and what acts on this machine without it."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from callgate.model.credential import Right
from callgate.serve.console.pages import page_for
from callgate.serve.console.visiting import gate_of, visiting

_AGENTS = 200


async def coverage(request: Request) -> Response:
    """Hosts, sources of tools and agents, each with how it stands."""
    visitor = await visiting(request, Right.READ)
    found = await gate_of(request).coverage()
    return await page_for(
        request,
        visitor,
        "coverage.html",
        section="coverage",
        found=found,
        agents=found.agents[:_AGENTS],
        more=max(0, len(found.agents) - _AGENTS),
    )
