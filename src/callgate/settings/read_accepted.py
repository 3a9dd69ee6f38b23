"""Reads accepted declarations: every key of the file described once. Knows nothing of what is done with them."""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import Any

from callgate.model.levels import FOREIGN, Effect, Risk
from callgate.model.tool import reading_fault
from callgate.model.visible import visible
from callgate.settings.accepted import AcceptedDeclaration, AcceptedDeclarations
from callgate.settings.complaints import Complaints, Fault
from callgate.settings.file_text import check_text
from callgate.settings.kinds import WRONG, Block, Fields, Key, ListOf, MapOf, Reading
from callgate.settings.leaves import Choice, Flag, Text, Version
from callgate.settings.wording import quote
from callgate.settings.yaml_source import read_nodes

_TOOL = r"[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)?"
_SOURCE_LONGEST = 200
_SCOPE = r"[a-z][a-z0-9_-]*:[a-z][a-z0-9_.-]*"


def read_accepted(text: str, *, file: str) -> AcceptedDeclarations:
    """Make accepted declarations of the text of a file.

    Raises:
        ConfigurationError: With everything that is wrong, each with its line and key.
    """
    complaints = Complaints(file)
    check_text(text, complaints)
    root = None if complaints else read_nodes(text, complaints)
    read = AcceptedDeclarations() if root is None else Reading(complaints, 0.0).attempt(_DOCUMENT, root)
    if complaints or read is WRONG:
        complaints.raise_all()
    return read


def _build_entry(fields: Fields, _: Reading) -> AcceptedDeclaration:
    effects: tuple[str, ...] = fields["effects"]
    if not effects:
        raise Fault("effects is empty; a tool reads or does something, so name at least one")
    fault = reading_fault(effects)
    if fault is not None:
        raise Fault(fault)
    if Effect.READ_ONLY.value in effects and fields.get("destructive"):
        raise Fault("a tool cannot be read_only and destructive; drop one of them")
    kept = {name: value for name, value in fields.items() if name not in {"hash", "by"}}
    return AcceptedDeclaration(hash=fields["hash"], fields=MappingProxyType(kept), by=fields.get("by", ""))


def _build_document(fields: Fields, _: Reading) -> AcceptedDeclarations:
    origins: dict[str, dict[str, Any]] = {name: value for name, value in fields.items() if name != "version"}
    sources = {(origin, name): MappingProxyType(tools) for origin in origins for name, tools in origins[origin].items()}
    return AcceptedDeclarations(MappingProxyType(sources))


def _check_tool(name: str) -> None:
    if not re.fullmatch(_TOOL, name):
        raise Fault(f"{quote(name)} is no tool name; write it as `tools list` shows it")


def _check_source(name: str) -> None:
    if visible(name) != name or len(name) > _SOURCE_LONGEST:
        raise Fault(f"{quote(name)} is no name of a source: it hides something, or is too long")


_ENTRY = Block(
    {
        "hash": Key(
            Text(pattern="[0-9a-f]{64}", needs="the definition's hash, 64 hexadecimal digits in quotes"),
            "The definition it was accepted for.",
            required=True,
        ),
        "effects": Key(ListOf(Choice({kind.value: kind.value for kind in Effect})), "What it does.", required=True),
        "scopes": Key(ListOf(Text(pattern=_SCOPE, needs="a scope such as fs:read")), "What its asker must have."),
        "risk": Key(Choice({risk.label: risk.label for risk in Risk}), "Its base risk."),
        "destructive": Key(Flag(), "Whether it may destroy something."),
        "idempotent": Key(Flag(), "Whether doing it twice is doing it once."),
        "concurrency_safe": Key(Flag(), "Whether it may run beside others."),
        "egress": Key(Flag(), "Whether data leaves through it."),
        "untrusted_output": Key(Flag(), "Whether strangers may have written what it gives back."),
        "sensitive_output": Key(Flag(), "Whether what it gives back is private."),
        "by": Key(Text(needs="a person's name"), "Who accepted it."),
    },
    _build_entry,
)

_SOURCES = MapOf(MapOf(_ENTRY, pattern=_TOOL, check=_check_tool), pattern=r"\S.*", check=_check_source)

_DOCUMENT = Block(
    {
        "version": Key(Version(1), "The version of this format.", 1, required=True),
        **{kind.value: Key(_SOURCES, "Sources of this kind, by name.") for kind in sorted(FOREIGN)},
    },
    _build_document,
)
