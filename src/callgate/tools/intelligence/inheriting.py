"""Inheriting: which class a member comes from, where the class that is named does not define it itself.

Bases are known by name, as a class is written. In what order they are looked at is Python's order (C3), which is also
right for languages with one base.
"""

from __future__ import annotations

import re

from callgate.tools.intelligence.finding import Definition, definitions_of, known_definitions
from callgate.tools.intelligence.naming import Symbol
from callgate.tools.intelligence.projects import Project

OWNERS = frozenset({"class", "struct", "interface", "trait", "enum", "module"})
_MOST_HOLDERS = 3
_MOST_BASES = 200
_DEEPEST = 40
_INNER = re.compile(r"<[^<>]*>|\[[^\[\]]*\]")
_BASES = re.compile(r"\b(?:extends|implements)\b(.*)|[(:<](.*)", re.DOTALL)
_NAME = re.compile(r"[^\W\d][\w.:]*(?!\w*\s*=)")
_NO_BASES = frozenset({"extends", "implements", "public", "private", "protected", "virtual", "permits", "object"})


def inherited(project: Project, symbol: Symbol) -> list[Definition]:
    """Where a member is defined that a class has from another; nothing where it has none."""
    lineage = _Lineage(project)
    holders = [each for each in known_definitions(project, Symbol(symbol.parts[:-1])) if each.kind in OWNERS]
    for holder in holders[:_MOST_HOLDERS]:
        for each in lineage.of(holder):
            found = [
                member
                for member in definitions_of(project, each.path, qualified=f"{each.qualified}.{symbol.name}")
                if member.kind != "declaration" or each.language != "python"
            ]
            if found:
                return found[:1]
    return []


def bases_of(signature: str) -> list[str]:
    """The names of the bases in the first line of a class."""
    bare = signature
    for _ in range(5):  # innermost first
        bare = _INNER.sub("", bare)
    told = _BASES.search(bare)
    if told is None:
        return []
    names = _NAME.findall((told.group(1) or told.group(2) or "").split(")")[0])
    return [name for name in names if name not in _NO_BASES]


class _Lineage:
    """The classes that a class is made of, itself first."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._known: dict[tuple[str, int], list[Definition]] = {}

    def of(self, each: Definition, *, depth: int = 0) -> list[Definition]:
        """In the order in which members are looked for."""
        place = (each.path, each.line)
        if place in self._known:
            return self._known[place]
        if depth > _DEEPEST or len(self._known) > _MOST_BASES:
            return [each]
        self._known[place] = [each]  # for a class that is among its own bases
        bases = [base for name in bases_of(each.signature) for base in self._base(each, name)]
        lines = [self.of(base, depth=depth + 1) for base in bases]
        self._known[place] = [each, *_merged([*lines, bases])]
        return self._known[place]

    def _base(self, each: Definition, name: str) -> list[Definition]:
        parts = tuple(part for part in re.split(r"[.:]+", name) if part)
        # What stands before the name may be a module under another name.
        known = known_definitions(self._project, Symbol(parts)) or known_definitions(self._project, Symbol(parts[-1:]))
        found = [base for base in known if base.kind in OWNERS]
        found = [base for base in found if (base.path, base.line) != (each.path, each.line)]
        return sorted(found, key=lambda base: base.path != each.path)[:1]


def _merged(lines: list[list[Definition]]) -> list[Definition]:
    """C3: nobody comes before one that derives from him. Where that cannot be, the first is taken."""
    merged: list[Definition] = []
    while lines := [line for line in lines if line]:
        later = {each for line in lines for each in line[1:]}
        best = next((line[0] for line in lines if line[0] not in later), lines[0][0])
        merged.append(best)
        lines = [[each for each in line if each != best] for line in lines]
    return merged
