"""Overlay: a foreign tool under the declaration that a person accepted for exactly this definition of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from callgate.adapters.declare import declare
from callgate.model.tool import Tool


def lay_over(tool: Tool, fields: Mapping[str, Any], *, definition_hash: str) -> Tool:
    """The tool with what was accepted for it.

    If it is another definition than the one that was accepted, it declares nothing, whatever it claims itself: nobody
    may call it before somebody looks.

    Args:
        tool: The tool, with or without an earlier declaration over it.
        fields: What was accepted, as `@tool` takes it.
        definition_hash: What it was accepted for.

    Raises:
        ConfigurationError: The fields contradict each other.
    """
    given = tool.as_given
    if given.definition_hash != definition_hash:
        return replace(given, declared=False, given=given)
    said = declare(**fields)
    return replace(
        given,
        given=given,
        declared=True,
        effects=said.effects,
        scopes=said.scopes | given.scopes,
        destructive=said.destructive,
        idempotent=said.idempotent,
        deterministic=False,
        concurrency_safe=said.concurrency_safe,
        base_risk=said.base_risk,
        risk_declared=said.risk_declared,
        egress=said.egress,
        # What a source itself says against its output stands, unless the person said otherwise.
        untrusted_output=said.stated.get("untrusted_output", said.untrusted_output or given.untrusted_output),
        sensitive_output=said.stated.get("sensitive_output", said.sensitive_output or given.sensitive_output),
    )
