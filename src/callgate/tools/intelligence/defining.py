"""Defining: where a symbol is defined, by the index; where that leaves a choice in Python, by jedi."""

from __future__ import annotations

import contextlib
from typing import Any

from callgate.tools.intelligence.apart import Apart, Lost, NotStarted
from callgate.tools.intelligence.finding import (
    Definition,
    definitions_at,
    definitions_of,
    is_of_tests,
    known_definitions,
)
from callgate.tools.intelligence.inheriting import inherited
from callgate.tools.intelligence.naming import Fit, Symbol, module_of
from callgate.tools.intelligence.projects import Project

_SECONDS = 12.0
"""For jedi, a question."""
_MOST_ASKED = 3


def find_definitions(project: Project, symbol: Symbol, *, scope: str = "", kind: str | None = None) -> list[Definition]:
    """Every definition that fits a symbol, the best first.

    Args:
        project: Where.
        symbol: What.
        scope: The beginning of the paths that count.
        kind: Only this kind.
    """
    found = known_definitions(project, symbol)
    if not found and symbol.dotted:
        found = inherited(project, symbol)
    if _is_open(found, symbol):
        exact = _by_jedi(project, symbol, found=found)
        found = [*exact, *(each for each in found if (each.path, each.line) not in {(e.path, e.line) for e in exact})]
    return [each for each in found if each.path.startswith(scope) and kind in {None, each.kind}]


def _is_open(found: list[Definition], symbol: Symbol) -> bool:
    """Whether the index leaves open which it is, in Python."""
    if not found:
        return symbol.dotted
    if symbol.dotted:
        return found[0].fit > Fit.TAIL
    best = [each for each in found if each.fit is found[0].fit and not is_of_tests(each.path)]
    return len(best) > 1 and best[0].language == "python" and best[0].fit is Fit.WHOLE


def _by_jedi(project: Project, symbol: Symbol, *, found: list[Definition]) -> list[Definition]:
    """What jedi says of a symbol that several definitions fit, or that none does: it may be inherited or handed on."""
    answers: list[Definition] = []
    with Apart() as apart:
        for code in _questions(project, symbol, found=found)[:_MOST_ASKED]:
            answers = _ask(project, apart, code=code)
            if answers:
                break
    return answers


def _questions(project: Project, symbol: Symbol, *, found: list[Definition]) -> list[str]:
    """Sources whose last name is what is asked for."""
    if not all(part.isidentifier() for part in symbol.parts):
        return []
    names = ".".join(symbol.parts)
    packages = sorted(
        {path.split("/")[0] for path in project.files if path.count("/") == 1 and path.endswith("/__init__.py")}
    )
    if not symbol.dotted:
        public = [package for package in packages if any(each.path.startswith(package + "/") for each in found)]
        return [f"import {package}\n{package}.{names}" for package in public if not is_of_tests(package + "/")]
    first = symbol.parts[0]
    if first in packages or f"{first}.py" in project.files:
        return [f"import {_module(project, symbol)}\n{names}"]
    holders = known_definitions(project, Symbol(symbol.parts[:-1]))
    classes = [
        each for each in holders if each.language == "python" and each.kind == "class" and "." not in each.qualified
    ]
    return [f"from {'.'.join(module_of(each.path))} import {each.name}\n{each.name}.{symbol.name}" for each in classes]


def _module(project: Project, symbol: Symbol) -> str:
    """The longest beginning of a dotted name that is a module."""
    for count in range(len(symbol.parts) - 1, 1, -1):
        way = "/".join(symbol.parts[:count])
        if f"{way}.py" in project.files or f"{way}/__init__.py" in project.files:
            return ".".join(symbol.parts[:count])
    return symbol.parts[0]


def _ask(project: Project, apart: Apart, *, code: str) -> list[Definition]:
    answers: list[dict[str, Any]] = []
    request = {**_request(project), "code": code, "line": 2, "column": len(code.split("\n")[1])}
    with contextlib.suppress(Lost, NotStarted):
        answers = apart.ask(request, seconds=_SECONDS, left=project.left())
    return [each for answer in answers for each in _known(project, answer)]


def _request(project: Project) -> dict[str, Any]:
    return {"do": "resolve", "root": project.held.place, "closed": list(project.closed)}


def _known(project: Project, answer: dict[str, Any]) -> list[Definition]:
    """An answer of jedi's, if the index knows it: what lies elsewhere is not told."""
    if answer["path"] not in project.files:
        return []
    at = [each for each in definitions_at(project, answer["path"], line=answer["line"]) if each.name == answer["name"]]
    return [_made(project, each) for each in at[:1]]


def _made(project: Project, each: Definition) -> Definition:
    """What a declaration declares, where that is in the same file."""
    if each.kind != "declaration":
        return each
    beside = definitions_of(project, each.path, qualified=each.qualified)
    return next((made for made in beside if made.kind != "declaration"), each)
