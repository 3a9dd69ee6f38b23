"""Accepted declarations as frozen values, and as the text of their file. Knows no tool, and not how text is read."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple, cast

from callgate.model.levels import FOREIGN

KEYS = (
    "hash",
    "effects",
    "scopes",
    "risk",
    "destructive",
    "idempotent",
    "concurrency_safe",
    "egress",
    "untrusted_output",
    "sensitive_output",
    "by",
)
"""The keys of an entry, as they are written."""
UNNAMED = "(unnamed)"
"""Stands for a source without a name of its own."""
_PLAIN = re.compile(r"[a-z][a-z_]*(\.[a-z][a-z_]*)?")
_OTHER_MEANINGS = frozenset({"y", "yes", "n", "no", "on", "off", "true", "false", "null"})
_HEAD = """\
# What people accepted that tools of foreign sources declare. Each entry is for one exact definition, by its hash;
# for any other it counts as if it were not here. Written by: callgate tools review
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptedDeclaration:
    """What one definition of one tool declares, by a person's word."""

    hash: str
    """The definition it was accepted for, as the source gave it."""
    fields: Mapping[str, Any]
    """As `@tool` takes them: words, lists of words, and flags."""
    by: str = ""
    """Who accepted it."""


class ToolOfSource(NamedTuple):
    """Which tool is meant: names are unique, and a name that another source took must not inherit what was accepted."""

    source: str
    """The kind of the source: mcp, plugin, …"""
    source_name: str
    name: str

    @property
    def place(self) -> tuple[str, str]:
        """Where the file has its source."""
        return self.source, self.source_name or UNNAMED


Sources = Mapping[tuple[str, str], Mapping[str, AcceptedDeclaration]]
"""Kind and name of a source, to the declarations of its tools by name."""


@dataclass(frozen=True, slots=True)
class AcceptedDeclarations:
    """Everything one file says."""

    sources: Sources = field(default_factory=dict[tuple[str, str], Mapping[str, AcceptedDeclaration]])

    def find(self, tool: ToolOfSource) -> AcceptedDeclaration | None:
        """What was accepted for a tool, whatever its definition is now."""
        return self.sources.get(tool.place, {}).get(tool.name)

    def with_entry(self, tool: ToolOfSource, entry: AcceptedDeclaration) -> AcceptedDeclarations:
        """The same with one entry more, or another one."""
        tools = {**self.sources.get(tool.place, {}), tool.name: entry}
        return AcceptedDeclarations(MappingProxyType({**self.sources, tool.place: MappingProxyType(tools)}))

    def to_text(self) -> str:
        """The file: the same text for the same entries, one line per field, so that a difference reads well."""
        lines = [_HEAD.rstrip(), "version: 1"]
        for origin in sorted(kind.value for kind in FOREIGN):
            names = sorted(name for kind, name in self.sources if kind == origin)
            lines += [f"{origin}:"] if names else []
            for name in names:
                lines.append(f"  {_quoted(name)}:")
                tools = self.sources[origin, name]
                lines += [line for tool in sorted(tools) for line in _entry(tool, tools[tool])]
        return "\n".join(lines) + "\n"


def _entry(tool: str, entry: AcceptedDeclaration) -> list[str]:
    said = {"hash": entry.hash, **entry.fields, **({"by": entry.by} if entry.by else {})}
    fields = {name: said[name] for name in KEYS if name in said}
    return [f"    {_quoted(tool)}:", *(f"      {name}: {_written(value)}" for name, value in fields.items())]


def _written(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _quoted(value)
    return f"[{', '.join(cast('tuple[str, ...]', value))}]"


def _quoted(text: str) -> str:
    """Plain where every reader of YAML takes it for this text, else in quotes."""
    plain = _PLAIN.fullmatch(text) is not None and text not in _OTHER_MEANINGS
    return text if plain else json.dumps(text, ensure_ascii=False)
