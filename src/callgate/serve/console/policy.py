"""Policy: the matrix, who may do what, the rules in force, and why a call would be decided as it would."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from callgate.model.canonical import NotCanonical, loads
from callgate.model.context import Context
from callgate.model.credential import Right
from callgate.model.levels import Autonomy, Risk
from callgate.model.shapes import as_mapping
from callgate.runtime.gate import Callgate
from callgate.serve.console.pages import page_for
from callgate.serve.console.story import told_decision
from callgate.serve.console.visiting import gate_of, visiting

_TOOLS = 200
_LONGEST = 20_000


async def policy(request: Request) -> Response:
    """The policy in force; with a call in the address, what would be decided about it. Nothing is done or recorded."""
    visitor = await visiting(request, Right.READ)
    gate = gate_of(request)
    asked = {
        name: request.query_params.get(name, "")[:_LONGEST].strip()
        for name in ("tool", "arguments", "role", "autonomy", "principal", "q")
    }
    decision, wrong = await _explained(gate, asked) if asked["tool"] else (None, "")
    settings = gate.settings_in_force()
    tools = [each for each in sorted(gate.tools(), key=lambda each: each.name) if asked["q"] in each.name]
    roles = gate.roles()
    return await page_for(
        request,
        visitor,
        "policy.html",
        status=422 if wrong else 200,
        section="policy",
        matrix=gate.matrix(),
        autonomies=list(Autonomy),
        risks=list(Risk),
        settings=settings,
        roles=roles,
        standings=[(each, [gate.role_standing(each, role) for role in roles]) for each in tools[:_TOOLS]],
        held={each.name for each in gate.quarantined()},
        left_out=max(0, len(tools) - _TOOLS),
        asked=asked,
        decision=decision,
        wrong=wrong,
    )


async def _explained(gate: Callgate, asked: dict[str, str]) -> tuple[dict[str, Any] | None, str]:
    try:
        arguments = as_mapping(loads(asked["arguments"] or "{}"))
    except (NotCanonical, ValueError) as error:
        return None, f"the arguments are no JSON: {error}"
    if arguments is None:
        return None, "arguments are one JSON object, in braces"
    level = Autonomy.__members__.get(asked["autonomy"])
    try:
        asker = Context(principal=asked["principal"] or "agent", role=asked["role"] or "default", autonomy=level)
    except ValueError as error:
        return None, str(error)
    return told_decision(await gate.explain(asked["tool"], dict(arguments), asker)), ""
