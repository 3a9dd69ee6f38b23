"""Proposals: what a foreign tool should be declared as, for a person to accept. Pure; nothing proposed is in force.

Always the stricter guess. That a tool only reads is proposed by its name alone, which people see, and its schema; what
its description says, and what its source claims, can only make a proposal stricter, so that no text argues it looser.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from callgate.model.levels import Effect, Risk
from callgate.model.tool import Tool
from callgate.registry.evidence_words import Evidence, look


class ProposalGroup(enum.StrEnum):
    """What is accepted together."""

    READ = "read"
    WRITE = "write"
    DESTRUCTIVE = "destructive"
    SUSPECT = "suspect"
    """Something in its texts hides, or speaks to the model instead of describing; look at each of these."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """What one definition of one tool should be declared as, and why."""

    tool: str
    source: str
    """The kind of its source: mcp, plugin, …"""
    source_name: str
    definition_hash: str
    """It is proposed for this definition, as the source gave it, and no other."""
    group: ProposalGroup
    fields: Mapping[str, Any]
    """As `@tool` takes them."""
    reasons: Mapping[str, str]
    """Why, field by field."""


def propose(tool: Tool) -> Proposal:
    """What this tool should be declared as, by what its source gave."""
    given = tool.as_given
    seen = look(given)
    group, why = _group(seen)
    effects, effects_why = _effects(group, seen)
    fields: dict[str, Any] = {"effects": effects}
    reasons = {"effects": f"{why}; {effects_why}" if effects_why else why}
    if group is not ProposalGroup.READ:
        fields["risk"] = Risk.HIGH.label
        reasons["risk"] = "how much harm it could do is not known"
        fields["destructive"] = group is not ProposalGroup.WRITE
        reasons["destructive"] = why
    for field, flag, reason in _flags(seen):
        fields[field], reasons[field] = flag, reason
    return Proposal(
        tool=given.name,
        source=given.source.value,
        source_name=given.source_name,
        definition_hash=given.definition_hash,
        group=group,
        fields=MappingProxyType(fields),
        reasons=MappingProxyType(reasons),
    )


def _group(seen: Evidence) -> tuple[ProposalGroup, str]:
    """Strictest first; only what passes every question before may be called reading."""
    if seen.suspicious:
        return ProposalGroup.SUSPECT, seen.suspicious
    for found in (seen.destroys, seen.runs_code):
        if found:
            return ProposalGroup.DESTRUCTIVE, found
    if seen.changes:
        return (ProposalGroup.WRITE if seen.only_adds else ProposalGroup.DESTRUCTIVE), seen.changes
    if seen.reads:
        return ProposalGroup.READ, seen.reads
    return ProposalGroup.DESTRUCTIVE, "nothing in its name says that it only reads"


def _effects(group: ProposalGroup, seen: Evidence) -> tuple[list[str], str]:
    if group is ProposalGroup.READ:
        return [Effect.READ_ONLY.value, Effect.NETWORK_ACCESS.value], ""
    effects, reasons = {Effect.SYSTEM_STATE, Effect.NETWORK_ACCESS}, list[str]()
    for effect, found in ((Effect.MODIFIES_FILES, seen.names_files), (Effect.LOCAL_EXEC, seen.runs_code)):
        if found:
            effects.add(effect)
            reasons.append(found)
    return sorted(effect.value for effect in effects), "; ".join(dict.fromkeys(reasons))


def _flags(seen: Evidence) -> list[tuple[str, bool, str]]:
    stays = "nothing proves that what it is given stays here"
    return [
        ("egress", True, seen.sends or stays),
        ("untrusted_output", True, "what it gives back was written by somebody else"),
        ("sensitive_output", bool(seen.private), seen.private or "nothing says that it gives back private data"),
    ]
