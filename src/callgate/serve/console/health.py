"""Health: how much is called and how it ends, how long people are waited for, and whether what tools need works."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from callgate.model.approval import Approval, ApprovalState
from callgate.model.credential import Right
from callgate.model.health import Health
from callgate.runtime.gate import Callgate
from callgate.serve.console.pages import page_for
from callgate.serve.console.visiting import gate_of, visiting

_SPANS = {"1h": (3600.0, 60.0), "24h": (86_400.0, 1800.0), "7d": (7 * 86_400.0, 4 * 3600.0)}
"""How far back, and how long one bar is."""
_MOST = 20_000
_QUESTIONS = 1000
_TOOLS = 10
_GROUPS = {
    "succeeded": "succeeded",
    "deduped": "succeeded",
    "previewed": "succeeded",
    "failed": "failed",
    "refused": "refused",
    "unknown": "unknown",
    "pending": "waiting",
    "started": "waiting",
}
_DECIDED = frozenset(
    {ApprovalState.APPROVED, ApprovalState.USED, ApprovalState.REJECTED, ApprovalState.ANSWERED, ApprovalState.EXPIRED}
)


async def health(request: Request) -> Response:
    """The figures and the state of every connector; the charts ask for their own."""
    visitor = await visiting(request, Right.READ)
    gate = gate_of(request)
    span = _span(request)
    recent = await _recent(gate, _SPANS[span][0])
    waits = [each for each in await _waits(gate) if each[0] >= time.time() - _SPANS[span][0]]
    ends = Counter(_GROUPS.get(each["status"], "") for each in recent)
    known = ends["succeeded"] + ends["failed"] + ends["refused"] + ends["unknown"]
    return await page_for(
        request,
        visitor,
        "health.html",
        section="health",
        span=span,
        spans=list(_SPANS),
        total=sum(number for name, number in ends.items() if name),
        share=f"{100 * ends['succeeded'] / known:.0f} %" if known else "",
        ends=ends,
        waited=_middle([seconds for _, seconds in waits]),
        took=_middle([each["duration_ms"] for each in recent if each.get("duration_ms") is not None]),
        tools=Counter(str(each.get("tool", "(erased)")) for each in recent).most_common(_TOOLS),
        connectors=_connectors(gate),
    )


async def figures(request: Request) -> Response:
    """What the charts draw: times, and a row of numbers for each line."""
    await visiting(request, Right.READ)
    gate = gate_of(request)
    back, step = _SPANS[_span(request)]
    recent = await _recent(gate, back)
    now = time.time()
    times = [(now - back) // step * step + step * place for place in range(int(back // step) + 1)]
    waits = [each for each in await _waits(gate) if each[0] >= times[0]]
    body = {
        "times": times,
        "ends": {
            name: _counted(recent, name, times) for name in ("succeeded", "refused", "failed", "unknown", "waiting")
        },
        "took": _averages(((each["asked_at"], each.get("duration_ms")) for each in recent), times),
        "waited": _averages(waits, times),
        "tools": Counter(str(each.get("tool", "(erased)")) for each in recent).most_common(_TOOLS),
    }
    return JSONResponse(body)


def _span(request: Request) -> str:
    asked = request.query_params.get("span", "")
    return asked if asked in _SPANS else "24h"


async def _recent(gate: Callgate, back: float) -> list[dict[str, Any]]:
    since = time.time() - back
    return [each for each in await gate.calls(limit=_MOST) if each["asked_at"] >= since and each["status"] in _GROUPS]


async def _waits(gate: Callgate) -> list[tuple[float, float]]:
    """When questions were decided, and after how many seconds."""
    found: list[Approval] = await gate.approvals(states=_DECIDED, limit=_QUESTIONS, newest_first=True)
    return [(each.decided_at, each.decided_at - each.created_at) for each in found if each.decided_at is not None]


def _place(at: float, times: list[float]) -> int:
    return min(max(int((at - times[0]) // (times[1] - times[0])), 0), len(times) - 1)


def _counted(calls: list[dict[str, Any]], group: str, times: list[float]) -> list[int]:
    found = [0] * len(times)
    for each in calls:
        if _GROUPS[each["status"]] == group:
            found[_place(each["asked_at"], times)] += 1
    return found


def _averages(measured: Iterable[tuple[float, float | None]], times: list[float]) -> list[float | None]:
    sums, numbers = [0.0] * len(times), [0] * len(times)
    for at, value in measured:
        if value is not None:
            sums[_place(at, times)] += value
            numbers[_place(at, times)] += 1
    return [total / number if number else None for total, number in zip(sums, numbers, strict=True)]


def _middle(values: list[float]) -> float | None:
    return sorted(values)[len(values) // 2] if values else None


def _connectors(gate: Callgate) -> list[tuple[str, int, Health]]:
    """Every system behind tools that has ever been in trouble, and all that tools name; with how many tools it has."""
    counted = Counter(each.connector or each.name for each in gate.tools())
    named = {each.connector for each in gate.tools() if each.connector not in {"", each.name}}
    found = [(name, number, gate.health(name)) for name, number in sorted(counted.items())]
    return [each for each in found if each[0] in named or each[2].last_error_at is not None]
