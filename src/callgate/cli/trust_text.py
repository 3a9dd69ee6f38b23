"""A tool beside what was trusted under its name, and what it is proposed as; for a person, and as JSON."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator, Sequence
from typing import Any

from callgate.cli.screen import Cell, Column, Screen
from callgate.runtime.trusting import Difference, Proposal, ProposalGroup

SHORT = 16
"""So much of a definition's hash is shown, and enough to name it."""
_MOST_LINES = 2000
_SHOWN = ("description", "input_schema", "output_schema", "claims", "examples")
_ABOUT = {
    ProposalGroup.READ: "they only read, by their names",
    ProposalGroup.WRITE: "they add something, and destroy nothing that anybody can tell",
    ProposalGroup.DESTRUCTIVE: "they may destroy or replace something, or nobody can tell what they do",
    ProposalGroup.SUSPECT: "their texts hide something, or speak to the model; look at each of them",
}


def difference_document(found: Difference) -> dict[str, Any]:
    """The difference as JSON."""
    return {
        "name": found.name,
        "source": found.source,
        "quarantined": found.reason,
        "definition_hash": found.definition_hash,
        "looser": list(found.looser),
        "stricter": list(found.stricter),
        "different": list(found.different),
        "old": None if found.old is None else dict(found.old),
        "new": dict(found.new),
    }


def show_difference(screen: Screen, found: Difference) -> None:
    """What was trusted, what is there now, and which way it changed."""
    screen.say(found.name, style="bold")
    facts: list[tuple[str, str | Cell]] = [
        ("state", Cell(f"quarantined: {found.reason}" if found.reason else "", "yellow")),
        ("source", found.source),
        ("looser", Cell(", ".join(found.looser), "red")),
        ("stricter", ", ".join(found.stricter)),
        ("different", ", ".join(found.different)),
        ("definition", Cell(found.definition_hash[:SHORT], whole=True)),
    ]
    screen.facts(facts, indent=2)
    for line in _changed_lines(found):
        screen.say(line, indent=2, style={"+": "green", "-": "red"}.get(line[:1], ""))


def proposal_document(proposal: Proposal) -> dict[str, Any]:
    """A proposal as JSON."""
    return {
        "tool": proposal.tool,
        "source": proposal.source,
        "source_name": proposal.source_name,
        "definition_hash": proposal.definition_hash,
        "group": proposal.group.value,
        "declaration": dict(proposal.fields),
        "reasons": dict(proposal.reasons),
    }


def show_groups(screen: Screen, proposals: Sequence[Proposal]) -> None:
    """The proposals by what is accepted together."""
    for group in ProposalGroup:
        among = [proposal for proposal in proposals if proposal.group is group]
        if among:
            show_group(screen, among)
            screen.say()


def show_group(screen: Screen, among: Sequence[Proposal]) -> None:
    """One group: every tool in it, as what it is proposed, and why."""
    group = among[0].group
    screen.say(f"{group.value}: {_ABOUT[group]}", style="bold")
    heads = [Column("TOOL", whole=True), Column("DECLARED AS"), Column("WHY"), Column("DEFINITION", whole=True)]
    screen.table(heads, [_row(proposal) for proposal in among])


def _row(proposal: Proposal) -> list[str]:
    fields = proposal.fields
    flags = [name.replace("_", " ") for name, value in fields.items() if value is True]
    risk = [f"risk {fields['risk']}"] if "risk" in fields else []
    said = ", ".join([*fields["effects"], *risk, *flags])
    return [proposal.tool, said, proposal.reasons["effects"], proposal.definition_hash[:SHORT]]


def _changed_lines(found: Difference) -> Iterator[str]:
    """The texts that changed, line by line: what a person has to read."""
    for field in _SHOWN:
        old = [] if found.old is None else _lines(found.old.get(field))
        new = _lines(found.new.get(field))
        if old != new:
            yield ""
            yield f"{field.replace('_', ' ')}:"
            yield from _difference(old, new)


def _difference(old: list[str], new: list[str]) -> Iterator[str]:
    if max(len(old), len(new)) > _MOST_LINES:
        # Comparing takes the square of it, and whoever writes a schema could make that long.
        yield f"has {len(new)} lines, and had {len(old)}; too many to show here, see --json"
        return
    for line in difflib.unified_diff(old, new, lineterm="", n=1):
        if not line.startswith(("---", "+++", "@@")):
            yield f"{line[:1]} {line[1:]}"


def _lines(value: Any) -> list[str]:
    if isinstance(value, str):
        return value.splitlines()
    return [] if not value else json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False).splitlines()
