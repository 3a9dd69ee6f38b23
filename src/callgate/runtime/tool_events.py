"""What is recorded of tools: that they came, changed, went, wait to be looked at, and were trusted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from callgate.events.vocabulary import KINDS, TOOL_CHANGED, TOOL_QUARANTINED, TOOL_REGISTERED, TOOL_REMOVED
from callgate.model.event import Draft

if TYPE_CHECKING:
    from callgate.model.tool import Tool
    from callgate.registry.registry import Changes


def registration_drafts(changes: Changes, *, now: float, trace: str) -> list[Draft]:
    """What is recorded of a change of the registry."""
    drafts = [_draft(TOOL_REGISTERED, tool, now, trace) for tool in changes.added]
    drafts += [_draft(TOOL_CHANGED, new, now, trace) for _, new in changes.changed]
    drafts += [_draft(TOOL_REMOVED, tool, now, trace) for tool in changes.removed]
    # A tool that waits already and came as it was is no news.
    coming = (*changes.added, *(new for _, new in changes.changed))
    held = [(tool, changes.quarantined[tool.name]) for tool in coming if tool.name in changes.quarantined]
    return drafts + [trust_draft(TOOL_QUARANTINED, tool, now=now, trace=trace, reason=reason) for tool, reason in held]


def trust_draft(event: str, tool: Tool, *, now: float, trace: str, **facts: str) -> Draft:
    """What is recorded of holding a tool, or letting it go: which definition of it, as its source gave it."""
    payload = {"tool_name": tool.name, "definition_hash": tool.as_given.definition_hash, **facts}
    return Draft(type=event, time=now, trace=trace, severity=KINDS[event].severity, payload=payload)


def _draft(event: str, tool: Tool, now: float, trace: str) -> Draft:
    payload = {
        "tool_id": tool.id,
        "tool_name": tool.name,
        "source": tool.source.value,
        "capabilities": list(tool.capabilities),
        "definition_hash": tool.definition_hash,
    }
    return Draft(type=event, time=now, trace=trace, severity=KINDS[event].severity, payload=payload)
