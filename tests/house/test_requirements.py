"""Every promise has a test, and every test that claims a promise names one that exists."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.requirements import REQUIREMENTS

TESTS = Path(__file__).resolve().parent.parent
ID = re.compile(r"\b[A-Z]+-\d\d\b")
LOOKALIKES = frozenset({"UTF-16", "UTF-32"})


def named_requirements(source: str) -> set[str]:
    """Collect the IDs that the tests of one module name in their markers and docstrings."""
    tree = ast.parse(source)
    return {*_marked(tree), *_described(tree)} - LOOKALIKES


def _marked(tree: ast.Module) -> Iterator[str]:
    statements = [statement for statement in tree.body if not _is_module_listing(statement)]
    for node in ast.walk(ast.Module(statements, [])):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.requirement":
            yield from (ast.literal_eval(argument) for argument in node.args)


def _is_module_listing(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "pytestmark"


def _described(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and node.name.lower().startswith(
            "test"
        ):
            yield from ID.findall(ast.get_docstring(node) or "")


@pytest.fixture(scope="module")
def named() -> dict[str, set[str]]:
    """The modules that name each ID."""
    found: dict[str, set[str]] = {}
    for path in sorted(TESTS.rglob("test_*.py")):
        for requirement in named_requirements(path.read_text(encoding="utf-8")):
            found.setdefault(requirement, set()).add(path.relative_to(TESTS).as_posix())
    return found


def test_no_test_names_a_requirement_that_does_not_exist(named: dict[str, set[str]]):
    assert {name: modules for name, modules in named.items() if name not in REQUIREMENTS} == {}


def test_every_requirement_has_a_test(named: dict[str, set[str]]):
    assert sorted(REQUIREMENTS.keys() - named.keys()) == []


def test_every_requirement_is_an_id_with_one_sentence():
    for name, text in REQUIREMENTS.items():
        assert ID.fullmatch(name), name
        assert text.endswith("."), name


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ('@pytest.mark.requirement("AAA-01", "BBB-02")\ndef test_x(): ...', {"AAA-01", "BBB-02"}),
        ('async def test_x():\n    """AAA-01: said in words, and BBB-02."""', {"AAA-01", "BBB-02"}),
        ('class TestX:\n    """AAA-01."""', {"AAA-01"}),
        ('cases = [pytest.param(1, marks=pytest.mark.requirement("AAA-01"))]', {"AAA-01"}),
        ('"""AAA-01."""\n# BBB-02\npytestmark = pytest.mark.requirement("CCC-03")\nNAMES = ["DDD-04"]', set[str]()),
        ('def helper():\n    """AAA-01."""', set[str]()),
        ('def test_x():\n    """Reads UTF-16 and SHA-256."""', set[str]()),
    ],
)
def test_names_count_only_where_a_test_stands_for_them(source: str, expected: set[str]):
    assert named_requirements(source) == expected
