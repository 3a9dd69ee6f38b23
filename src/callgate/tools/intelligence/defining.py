"""Defining: finds where a symbol is defined, by the index and, where that cannot tell for Python, by jedi."""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass, replace
from typing import Any

from callgate.tools.intelligence.apart import Apart, Lost
from callgate.tools.intelligence.naming import Fit, Symbol, module_of
from callgate.tools.intelligence.projects import Project

KINDS = (
    *("class", "struct", "interface", "trait", "enum", "type", "function", "method", "macro", "module", "constant"),
    *("variable", "field", "declaration"),
)
"""In the order in which one is rather meant than the other, where a name has several."""
_MOST_LOOKED_AT = 2000
_SECONDS = 6.0
"""For jedi, a question."""
_MOST_ASKED = 3
_OF_TESTS = re.compile(
    r"(^|/)(tests?|testing|spec|specs|__tests__|examples?|benchmarks?)/|(^|/)(test_[^/]*|conftest\.py|[^/]*[._](test|spec)\.[^/]*)$"
)

_SELECT = """
SELECT f.path, f.language, s.name, s.qualified, s.kind, s.line, s.last, s.signature, s.doc
FROM symbols s JOIN files f ON f.id = s.file
"""


@dataclass(frozen=True, slots=True)
class Definition:
    """Something that is defined."""

    path: str
    language: str
    name: str
    qualified: str
    kind: str
    line: int
    last: int
    signature: str
    doc: str
    fit: Fit = Fit.WHOLE

    def to_json(self) -> dict[str, Any]:
        """As a tool tells it."""
        return {
            "path": self.path,
            "line": self.line,
            "end_line": self.last,
            "kind": self.kind,
            "name": self.name,
            "qualified_name": self.qualified,
            "language": self.language,
            "signature": self.signature,
            "doc": self.doc,
        }


def find_definitions(project: Project, symbol: Symbol, *, scope: str = "", kind: str | None = None) -> list[Definition]:
    """Every definition that fits a symbol, the best first.

    Args:
        project: Where.
        symbol: What.
        scope: The beginning of the paths that count.
        kind: Only this kind.
    """
    found = known_definitions(project, symbol)
    if _is_open(found, symbol):
        exact = _by_jedi(project, symbol, found=found)
        found = [*exact, *(each for each in found if (each.path, each.line) not in {(e.path, e.line) for e in exact})]
    return [each for each in found if each.path.startswith(scope) and kind in {None, each.kind}]


def definitions_at(project: Project, path: str, *, line: int) -> list[Definition]:
    """What is defined at a place."""
    rows = project.index.rows(_SELECT + "WHERE f.path = ? AND s.line = ?", (path, line))
    return [Definition(*row) for row in rows]


def is_of_tests(path: str) -> bool:
    """Whether a file is there to test or to show others."""
    return _OF_TESTS.search(path) is not None


def known_definitions(project: Project, symbol: Symbol) -> list[Definition]:
    """Every definition that fits a symbol, as far as the index alone can tell."""
    rows = project.index.rows(_SELECT + "WHERE s.folded = ? LIMIT ?", (symbol.name.lower(), _MOST_LOOKED_AT))
    root = project.held.place.rpartition("/")[2]
    judged = (replace(each, fit=symbol.fit(each.qualified, each.path, root=root)) for each in _each(rows))
    fitting = [each for each in judged if each.fit is not Fit.NONE and each.path in project.files]
    if any(each.fit is not Fit.FOLDED for each in fitting):
        fitting = [each for each in fitting if each.fit is not Fit.FOLDED]
    return sorted(fitting, key=_order_of_dotted if symbol.dotted else _order)


def _each(rows: list[Any]) -> list[Definition]:
    return [Definition(*row) for row in rows]


def _order_of_dotted(each: Definition) -> tuple[Any, ...]:
    """Who says where it lies means that, also among tests."""
    return (each.fit, *_order(each))


def _order(each: Definition) -> tuple[Any, ...]:
    return (
        each.kind == "declaration",
        is_of_tests(each.path),
        each.fit,
        each.qualified.count("."),
        KINDS.index(each.kind),
        each.path.count("/"),
        each.path,
        each.line,
    )


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
    with contextlib.suppress(Lost):
        answers = apart.ask(request, seconds=_SECONDS, left=project.left())
    return [each for answer in answers for each in _known(project, answer)]


def _request(project: Project) -> dict[str, Any]:
    return {"do": "resolve", "root": project.held.place, "closed": list(project.closed)}


def _known(project: Project, answer: dict[str, Any]) -> list[Definition]:
    """An answer of jedi's, if the index knows it: what lies elsewhere is not told."""
    if answer["path"] not in project.files:
        return []
    at = [each for each in definitions_at(project, answer["path"], line=answer["line"]) if each.name == answer["name"]]
    return at[:1]
