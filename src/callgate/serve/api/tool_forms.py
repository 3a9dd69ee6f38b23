"""How tools, and the differences that people look at, appear in answers."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from pydantic import BaseModel

from callgate.model.health import Health
from callgate.model.tool import YES_OR_NO, Tool
from callgate.runtime.trusting import Difference, Proposal

_PLAIN = ("name", "description", "input_schema", "output_schema", "connector", "source_name", "category", "timeout")
_FLAGS = ("read_only", *YES_OR_NO)


class ToolBody(BaseModel):
    """A tool: how it is called, and what it declares."""

    name: str
    description: str
    input_schema: dict[str, Any]
    output_schema: dict[str, Any] | None
    connector: str
    source: str
    source_name: str
    category: str
    tags: list[str]
    capabilities: list[str]
    scopes: list[str]
    effects: list[str]
    risk: str
    timeout: float | None
    read_only: bool
    destructive: bool
    idempotent: bool
    deterministic: bool
    concurrency_safe: bool
    untrusted_output: bool
    sensitive_output: bool
    egress: bool


class HealthBody(BaseModel):
    """Whether the system behind tools can be called, and what its last calls said."""

    status: str
    last_success_at: float | None
    last_error: str | None
    last_error_at: float | None
    consecutive_errors: int
    rate_limit_resets_at: float | None
    opened_at: float | None


class WholeToolBody(ToolBody):
    """A tool as people see it: also why it cannot be called, where it cannot."""

    declared: bool
    unavailable: str | None
    quarantined: str | None
    """Why it waits until somebody looks at it."""
    definition_hash: str
    health: HealthBody


class DifferenceBody(BaseModel):
    """A tool beside what was trusted under its name."""

    name: str
    source: str
    quarantined: str | None
    definition_hash: str
    """What trusting it has to name."""
    looser: list[str]
    stricter: list[str]
    different: list[str]
    old: dict[str, Any] | None
    new: dict[str, Any]


class ProposalBody(BaseModel):
    """What a tool of a foreign source should be declared as, and why."""

    tool: str
    source: str
    source_name: str
    definition_hash: str
    group: str
    declaration: dict[str, Any]
    reasons: dict[str, str]


def tool_body(tool: Tool) -> dict[str, Any]:
    """A tool, as it is sent to an agent that may call it."""
    body: dict[str, Any] = {name: getattr(tool, name) for name in (*_PLAIN, *_FLAGS)}
    return body | {
        "source": tool.source.value,
        "tags": list(tool.tags),
        "capabilities": list(tool.capabilities),
        "scopes": sorted(tool.scopes),
        "effects": sorted(effect.value for effect in tool.effects),
        "risk": tool.base_risk.label,
    }


def whole_tool_body(tool: Tool, *, held: str | None, health: Health) -> dict[str, Any]:
    """A tool, as it is sent to people; `held` is why it waits until somebody looks at it."""
    state = {"declared": tool.declared, "unavailable": tool.unavailable, "quarantined": held}
    return tool_body(tool) | state | {"definition_hash": tool.definition_hash, "health": health_body(health)}


def health_body(health: Health) -> dict[str, Any]:
    """The health of a connector, as it is sent."""
    return asdict(health) | {"status": health.status.value}


def difference_body(found: Difference) -> dict[str, Any]:
    """A difference, as it is sent."""
    lists = {name: list(getattr(found, name)) for name in ("looser", "stricter", "different")}
    old = None if found.old is None else dict(found.old)
    facts = {"name": found.name, "source": found.source, "quarantined": found.reason}
    return facts | {"definition_hash": found.definition_hash} | lists | {"old": old, "new": dict(found.new)}


def proposal_body(found: Proposal) -> dict[str, Any]:
    """A proposal, as it is sent."""
    facts = {name: getattr(found, name) for name in ("tool", "source", "source_name", "definition_hash")}
    return facts | {"group": found.group.value, "declaration": dict(found.fields), "reasons": dict(found.reasons)}
