"""What empty pages teach: one request that is answered as the page says, of a tool that this gate has."""

from __future__ import annotations

import json
import shlex
from typing import Any

from starlette.requests import Request

from callgate.model.levels import Origin, Verdict
from callgate.model.tool import Tool
from callgate.runtime.gate import Callgate
from callgate.serve.console.fields import fields_of
from callgate.serve.console.visiting import gate_of

_LOOKED_AT = 30
_SAMPLES: dict[str, Any] = {"text": "tea", "long": "Tea at five?", "whole": 1, "number": 1.5, "truth": True}


async def taught(request: Request, verdict: Verdict) -> str:
    """The commands that let an agent in and make a call which is decided like this; empty if no tool here is."""
    gate = gate_of(request)
    for tool in _fitting(gate, verdict):
        arguments = _arguments(tool)
        if (await gate.explain(tool.name, arguments)).verdict is verdict:
            return _command(request.app.state.addresses.url, {"tool": tool.name, "arguments": arguments})
    return ""


def _fitting(gate: Callgate, verdict: Verdict) -> list[Tool]:
    """Tools that are likely to be decided so, the operator's own before the built-in ones; and not without end."""
    likely = gate.tools(healthy=True, read_only=verdict is Verdict.ALLOW)
    able = [each for each in likely if each.source is not Origin.HOST]
    return sorted(able, key=lambda each: (each.source is Origin.BUILTIN, each.name))[:_LOOKED_AT]


def _arguments(tool: Tool) -> dict[str, Any]:
    """What it is called with: its own example, else something of the right kind in each field that is needed."""
    if tool.examples:
        return dict(tool.examples[0])
    needed = [field for field in fields_of(tool.input_schema) if field.needed]
    return {each.name: json.loads(each.choices[0]) if each.choices else _SAMPLES.get(each.kind) for each in needed}


def _command(url: str, body: dict[str, Any]) -> str:
    # As JSON in ASCII: what a shell shows and what it runs are the same then.
    lines = [
        "TOKEN=$(callgate tokens agent crawler)",
        f"curl -s {url}/api/v1/calls -H \"Authorization: Bearer $TOKEN\" -H 'Content-Type: application/json' \\",
        f"  -d {shlex.quote(json.dumps(body))}",
    ]
    return "\n".join(lines)
