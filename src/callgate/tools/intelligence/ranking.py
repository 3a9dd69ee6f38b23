"""Ranking: which symbols of a project matter most, by who uses them: as pages are ranked by links."""

from __future__ import annotations

import builtins
import io
from collections import defaultdict
from dataclasses import dataclass

from callgate.tools.intelligence.finding import is_of_tests
from callgate.tools.intelligence.projects import Project

_ROUNDS = 15
_DAMPING = 0.85
_MOST_DEFINERS = 8
"""A name that is defined in more files says nothing about any of them."""
_LESS = {"field": 0.2, "variable": 0.3, "constant": 0.3, "method": 0.5, "declaration": 0.3, "module": 0.5}
_HIDDEN = 0.3
_SHORT = 4
_EVERYDAY = frozenset(
    name
    for each in (builtins, str, bytes, list, dict, set, tuple, int, float, io.TextIOWrapper)
    for name in dir(each)
    if not name.startswith("__")
) | {"length", "push", "map", "filter", "forEach", "then", "toString", "main", "new", "name", "size", "self", "data"}
"""Names that are used all over without meaning what a project calls so."""

_USES = """
SELECT n.name, n.file, n.uses FROM names n
WHERE n.uses > 0 AND n.name IN (SELECT name FROM symbols GROUP BY name HAVING count(DISTINCT file) <= ?)
"""


@dataclass(frozen=True, slots=True)
class Ranked:
    """A symbol and what it is worth."""

    path: str
    qualified: str
    kind: str
    line: int
    signature: str
    doc: str
    worth: float


def rank(project: Project) -> list[Ranked]:
    """Every symbol, the most used first."""
    rows = project.index.rows(
        "SELECT s.file, f.path, s.name, s.qualified, s.kind, s.line, s.signature, s.doc"
        " FROM symbols s JOIN files f ON f.id = s.file WHERE f.trouble = ''"
    )
    paths = {file: path for file, path, *_ in rows}
    definers: dict[str, set[int]] = defaultdict(set)
    for file, _, name, *_ in rows:
        definers[name].add(file)
    uses = project.index.rows(_USES, (_MOST_DEFINERS,))
    worth_of_files = _rank_files(
        {file: is_of_tests(path) for file, path in paths.items()}, definers=definers, uses=uses
    )
    worth_of_names = _rank_names(worth_of_files, definers=definers, uses=uses)
    ranked = [
        Ranked(
            path,
            qualified,
            kind,
            line,
            signature,
            doc,
            _weigh(worth_of_names.get((file, name), 0.0), kind=kind, path=path, name=name),
        )
        for file, path, name, qualified, kind, line, signature, doc in rows
        if path in project.files
    ]
    return sorted(ranked, key=lambda each: (-each.worth, each.path, each.line))


def _rank_files(
    files: dict[int, bool], *, definers: dict[str, set[int]], uses: list[tuple[str, int, int]]
) -> dict[int, float]:
    """Files that are used by files that are used, and so on."""
    links: dict[int, dict[int, float]] = defaultdict(lambda: defaultdict(float))
    for name, user, count in uses:
        for definer in definers[name] - {user}:
            links[user][definer] += count**0.5 / len(definers[name])
    ranks = dict.fromkeys(files, 1.0)
    for _ in range(_ROUNDS):
        after = dict.fromkeys(files, 1.0 - _DAMPING)
        for user, linked in links.items():
            given = _DAMPING * ranks.get(user, 1.0) / sum(linked.values())
            for definer, weight in linked.items():
                after[definer] += given * weight
        ranks = after
    return {file: value * (0.1 if files[file] else 1.0) for file, value in ranks.items()}


def _rank_names(
    ranks: dict[int, float], *, definers: dict[str, set[int]], uses: list[tuple[str, int, int]]
) -> dict[tuple[int, str], float]:
    worth: dict[tuple[int, str], float] = defaultdict(float)
    for name, user, count in uses:
        others = definers[name]
        for definer in others:
            # What a file uses of itself says little.
            near = 0.1 if definer == user else 1.0
            worth[definer, name] += near * ranks.get(user, 0.5) * count**0.5 / len(others)
    return worth


def _weigh(worth: float, *, kind: str, path: str, name: str) -> float:
    if name in _EVERYDAY and kind in {"method", "field", "variable", "function"}:
        worth *= 0.02
    factor = (
        (0.4 if len(name) < _SHORT else 1.0)
        * _LESS.get(kind, 1.0)
        * (_HIDDEN if name.startswith("_") else 1.0)
        * (0.2 if is_of_tests(path) else 1.0)
    )
    return (worth + 0.01) * factor
