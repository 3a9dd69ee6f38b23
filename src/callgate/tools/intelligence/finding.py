"""Finding: definitions that the index knows, and how well each fits a symbol."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

from callgate.tools.intelligence.naming import Fit, Symbol
from callgate.tools.intelligence.projects import Project

KINDS = (
    *("class", "struct", "interface", "trait", "enum", "type", "function", "method", "macro", "module", "constant"),
    *("variable", "field", "declaration"),
)
"""In the order in which one is rather meant than the other, where a name has several."""
_MOST_LOOKED_AT = 2000
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


def known_definitions(project: Project, symbol: Symbol) -> list[Definition]:
    """Every definition that fits a symbol, as far as the index alone can tell."""
    rows = project.index.rows(_SELECT + "WHERE s.folded = ? LIMIT ?", (symbol.name.lower(), _MOST_LOOKED_AT))
    root = project.held.place.rpartition("/")[2]
    judged = (replace(each, fit=symbol.fit(each.qualified, each.path, root=root)) for each in _each(rows))
    fitting = [each for each in judged if each.fit is not Fit.NONE and each.path in project.files]
    if any(each.fit is not Fit.FOLDED for each in fitting):
        fitting = [each for each in fitting if each.fit is not Fit.FOLDED]
    return sorted(fitting, key=_order_of_dotted if symbol.dotted else _order)


def definitions_at(project: Project, path: str, *, line: int) -> list[Definition]:
    """What is defined at a place."""
    rows = project.index.rows(_SELECT + "WHERE f.path = ? AND s.line = ?", (path, line))
    return [Definition(*row) for row in rows]


def definitions_of(project: Project, path: str, *, qualified: str) -> list[Definition]:
    """What is called so in a file."""
    rows = project.index.rows(_SELECT + "WHERE f.path = ? AND s.qualified = ?", (path, qualified))
    return [each for each in _each(rows) if path in project.files]


def is_of_tests(path: str) -> bool:
    """Whether a file is there to test or to show others."""
    return _OF_TESTS.search(path) is not None


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
