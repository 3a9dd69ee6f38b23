"""Referring: finds where a name is used, by the index; which places mean a dotted name in Python, jedi says."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from callgate.tools.intelligence.apart import Apart, Lost, NotStarted
from callgate.tools.intelligence.extract import REFERENCES
from callgate.tools.intelligence.finding import Definition, is_of_tests
from callgate.tools.intelligence.naming import Symbol
from callgate.tools.intelligence.projects import Project

_KINDS = {letter: kind for kind, letter in REFERENCES.items()} | {REFERENCES["module"]: "import"}
_PLACE = re.compile(r"(\d+)([a-z])")
_MOST_FILES = 2000
_MOST_RESOLVED = 200
_SECONDS = 2.0
"""For jedi, a place."""
_ALL_SECONDS = 8.0
"""For all of them."""


@dataclass(frozen=True, slots=True)
class Reference:
    """A place where a name is used."""

    path: str
    language: str
    line: int
    kind: str
    resolved: bool = False
    """Whether it is known to mean that very definition, and not only something of the same name."""


@dataclass(frozen=True, slots=True)
class Found:
    """References, as many as were asked for."""

    references: list[Reference]
    total: int
    """How many places have the name."""


def places_of(project: Project, symbol: Symbol, *, kind: str, limit: int, meant: list[Definition]) -> Found:
    """Where a symbol is used, other files than tests first.

    Args:
        project: Where.
        symbol: What.
        kind: Only these, or `all`.
        limit: At most so many.
        meant: The definitions that the symbol stands for.
    """
    every = [each for each in _places(project, symbol) if kind in {"all", each.kind}]
    every.sort(key=lambda each: (is_of_tests(each.path), each.path, each.line))
    namesakes = _namesakes(project, symbol)
    if symbol.dotted and namesakes > len(meant) and any(each.language == "python" for each in meant):
        return Found(_meaning(project, symbol, every=every, meant=meant, limit=limit), len(every))
    sure = namesakes <= 1 and len(meant) == 1
    return Found([_settled(each, resolved=sure) for each in every[:limit]], len(every))


def _settled(each: Reference, *, resolved: bool) -> Reference:
    return Reference(each.path, each.language, each.line, each.kind, resolved)


def _places(project: Project, symbol: Symbol) -> Iterator[Reference]:
    rows = project.index.rows(
        "SELECT f.path, f.language, n.places FROM names n JOIN files f ON f.id = n.file WHERE n.name = ? LIMIT ?",
        (symbol.name, _MOST_FILES),
    )
    for path, language, places in rows:
        if path in project.files:
            for line, letter in dict.fromkeys(_PLACE.findall(places)):
                yield Reference(path, language, int(line), _KINDS[letter])


def _namesakes(project: Project, symbol: Symbol) -> int:
    return project.index.rows(
        "SELECT count(*) FROM symbols WHERE name = ? AND folded = ?", (symbol.name, symbol.name.lower())
    )[0][0]


def _meaning(
    project: Project, symbol: Symbol, *, every: list[Reference], meant: list[Definition], limit: int
) -> list[Reference]:
    """Those that jedi says mean it, then those it cannot tell; those that mean something else are left out."""
    targets = {(each.path, each.line) for each in meant}
    sure: list[Reference] = []
    open_: list[Reference] = []
    until = time.monotonic() + _ALL_SECONDS
    with Apart() as apart:
        for count, each in enumerate(every):
            if len(sure) >= limit:
                break
            asked = each.language == "python" and count < _MOST_RESOLVED and time.monotonic() < until
            answers = _resolve(project, apart, each=each, name=symbol.name) if asked else []
            if not answers:
                open_.append(each)
            elif not targets.isdisjoint(answers):
                sure.append(_settled(each, resolved=True))
    return [*sure, *open_][:limit]


def _resolve(project: Project, apart: Apart, *, each: Reference, name: str) -> list[tuple[str, int]]:
    lines = project.lines(each.path)
    line = lines[each.line - 1] if each.line <= len(lines) else ""
    at = re.search(rf"\b{re.escape(name)}\b", line)
    if at is None:
        return []
    request: dict[str, Any] = {
        "do": "resolve",
        "root": project.held.place,
        "closed": list(project.closed),
        "path": each.path,
        "line": each.line,
        "column": at.start(),
    }
    try:
        answers: list[dict[str, Any]] = apart.ask(request, seconds=_SECONDS, left=project.left())
    except (Lost, NotStarted):
        return []
    return [(answer["path"], answer["line"]) for answer in answers]
