"""Tools: all of them, one with everything it declares, and trying it from a form."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from callgate.errors import ConfigurationError
from callgate.model.canonical import NotCanonical, loads
from callgate.model.context import Context
from callgate.model.credential import Right
from callgate.model.levels import Assurance, Autonomy
from callgate.model.shapes import as_mapping
from callgate.model.tool import YES_OR_NO, Hooks, Tool
from callgate.runtime.gate import Callgate
from callgate.runtime.outcome_form import outcome_to_json
from callgate.serve.console.fields import PREFIX, arguments_of, fields_of
from callgate.serve.console.pages import page_for
from callgate.serve.console.story import told_decision
from callgate.serve.console.visiting import Sent, Visitor, gate_of, sent, visiting

_SIGNED_IN = Assurance.SIGNED_IN
_SHOWN = 500
_FOUND = 50
_LEVELS = tuple(Autonomy.__members__)


async def tools(request: Request) -> Response:
    """Every tool, or those that fit what is looked for."""
    visitor = await visiting(request, Right.READ)
    gate = gate_of(request)
    words, source = (request.query_params.get(name, "").strip()[:200] for name in ("q", "source"))
    found = gate.search_all(words, limit=_FOUND) if words else sorted(gate.tools(), key=lambda each: each.name)
    among = [each for each in found if source in {"", each.source.value}]
    return await page_for(
        request,
        visitor,
        "tools.html",
        section="tools",
        tools=[(each, _state(gate, each)) for each in among[:_SHOWN]],
        more=max(0, len(among) - _SHOWN),
        q=words,
        source=source,
        sources=sorted({each.source.value for each in gate.tools()}),
    )


async def tool(request: Request) -> Response:
    """One tool with everything it declares."""
    visitor = await visiting(request, Right.READ)
    return await _page(request, visitor, gate_of(request).tool(request.path_params["name"]))


async def attempt(request: Request) -> Response:
    """Explain what would be decided about a call, or try it."""
    found = await sent(request, Right.READ)
    gate, target = gate_of(request), gate_of(request).tool(request.path_params["name"])
    typed = {name.removeprefix(PREFIX): str(value) for name, value in found.form.items() if name.startswith(PREFIX)}
    shown: dict[str, Any] = {"typed": typed, "typed_json": found.text("json"), "role": found.text("role")}
    role = found.text("role") or Context().role
    try:
        arguments = _arguments(target, found)
        _need_role(gate, role)
    except ValueError as error:
        return await _page(request, found.visitor, target, wrong=str(error), status=422, **shown)
    if found.text("answer") == "try":
        outcome = await gate.try_call(found.visitor.visit.credential, target.name, arguments, role=role)
        return await _page(request, found.visitor, target, tried=outcome_to_json(outcome), **shown)
    level = found.text("autonomy")
    asker = Context(role=role, autonomy=Autonomy[level] if level in _LEVELS else None)
    decision = await gate.explain(target.name, arguments, asker)
    return await _page(request, found.visitor, target, decision=told_decision(decision), level=level, **shown)


async def run_decided(request: Request) -> Response:
    """Make a call that this person tried, and somebody else has decided about."""
    found = await sent(request, Right.ADMINISTER)
    gate = gate_of(request)
    outcome = await gate.try_resume(found.visitor.visit.credential, request.path_params["id"])
    return await _page(request, found.visitor, gate.tool(outcome.tool), tried=outcome_to_json(outcome))


async def distrust(request: Request) -> Response:
    """Hold a tool until somebody trusts it again."""
    found = await sent(request, Right.ADMINISTER)
    gate, name = gate_of(request), request.path_params["name"]
    try:
        await gate.distrust(name, by=found.visitor.name, why=found.text("why"), assurance=_SIGNED_IN)
    except ConfigurationError as error:
        return await _page(request, found.visitor, gate.tool(name), wrong=str(error), status=409)
    return RedirectResponse(f"/review/{quote(name)}", status_code=303)


def _need_role(gate: Callgate, role: str) -> None:
    if role not in gate.roles():
        message = f"there is no role {role[:80]}; the roles are {', '.join(gate.roles())}"
        raise ValueError(message)


def _arguments(target: Tool, found: Sent) -> dict[str, Any]:
    typed = found.text("json")
    if not typed.strip():
        return arguments_of(target.input_schema, found.text)
    try:
        read = as_mapping(loads(typed))
    except (NotCanonical, ValueError) as error:
        message = f"this is no JSON: {error}"
        raise ValueError(message) from None
    if read is None:
        message = "arguments are one JSON object, in braces"
        raise ValueError(message)
    return dict(read)


async def _page(request: Request, visitor: Visitor, target: Tool, *, status: int = 200, **shown: Any) -> Response:
    gate = gate_of(request)
    known: dict[str, Any] = {
        "wrong": "",
        "typed": None,
        "typed_json": "",
        "role": Context().role,
        "level": "",
        "tried": None,
        "decision": None,
    }
    known |= shown
    roles = gate.roles()
    return await page_for(
        request,
        visitor,
        "tool.html",
        status=status,
        section="tools",
        tool=target,
        state=_state(gate, target),
        facts=_facts(target),
        fields=fields_of(target.input_schema, known["typed"]),
        prefix=PREFIX,
        schema=json.dumps(target.input_schema, ensure_ascii=False, indent=2),
        output=None if target.output_schema is None else json.dumps(target.output_schema, ensure_ascii=False, indent=2),
        roles=[(role, gate.role_standing(target, role)) for role in roles],
        levels=_LEVELS,
        health=gate.health(target.connector or target.name),
        **known,
    )


def _facts(target: Tool) -> list[tuple[str, str]]:
    hooks = sorted(name for name in Hooks.__slots__ if getattr(target.hooks, name) is not None)
    declared = "" if target.risk_declared or target.read_only else " (not declared, so the worst is assumed)"
    found = [
        ("Risk", target.base_risk.label + declared),
        ("Effects", ", ".join(target.side_effects).replace("_", " ") or "not declared"),
        ("Also", ", ".join(word.replace("_", " ") for word in YES_OR_NO if getattr(target, word))),
        ("Scopes", ", ".join(sorted(target.scopes))),
        ("Callers", ", ".join(sorted(caller.value for caller in target.allowed_callers))),
        ("Source", f"{target.source.value} {target.source_name}".strip()),
        ("Connector", target.connector),
        ("Category", target.category),
        ("Tags", ", ".join(target.tags)),
        ("Capabilities", ", ".join(target.capabilities)),
        ("Time limit", "" if target.timeout is None else f"{target.timeout:g} seconds"),
        ("Brings", ", ".join(hooks)),
        ("Definition", target.definition_hash[:16]),
    ]
    return [(name, value) for name, value in found if value]


def _state(gate: Callgate, target: Tool) -> tuple[str, str]:
    """How a tool stands, in a word, and why."""
    held = gate.difference(target.name).reason
    if held is not None:
        return "held", held
    if target.unavailable is not None:
        return "unavailable", target.unavailable
    if not target.declared:
        return "refused", "nothing is declared of it: effects, scopes or a check"
    status = gate.health(target.connector or target.name).status.value
    return status, ""
