"""find_definition on a real package: forty symbols whose definitions were looked up by hand in its sources.

A place is the file and how the defining line begins (`$` is its end), since line numbers change with
every version of the package.
"""

from __future__ import annotations

import shutil
import sysconfig
from pathlib import Path

import pytest

from callgate import Callgate
from tests.tools.intelligence.asking import opened

PARTS = (
    *("calculus", "concrete", "core", "functions", "geometry", "integrals", "logic", "matrices", "ntheory", "printing"),
    *("series", "sets", "simplify", "solvers", "utilities"),
)
LEAST = 50_000
"""Lines that the package must have for this to say anything."""

SYMBOLS = {
    # Names, of which some are used a thousand times and defined once
    "Symbol": ("core/symbol.py", "class Symbol("),
    "Dummy": ("core/symbol.py", "class Dummy(Symbol):"),
    "Basic": ("core/basic.py", "class Basic("),
    "Expr": ("core/expr.py", "class Expr("),
    "Mul": ("core/mul.py", "class Mul("),
    "Integer": ("core/numbers.py", "class Integer(Rational):"),
    "Derivative": ("core/function.py", "class Derivative(Expr):"),
    "Equality": ("core/relational.py", "class Equality(Relational):"),
    "Piecewise": ("functions/elementary/piecewise.py", "class Piecewise("),
    "binomial": ("functions/combinatorial/factorials.py", "class binomial("),
    "Circle": ("geometry/ellipse.py", "class Circle(Ellipse):"),
    "LatexPrinter": ("printing/latex.py", "class LatexPrinter(Printer):"),
    "symbols": ("core/symbol.py", "def symbols("),
    "solveset": ("solvers/solveset.py", "def solveset("),
    "linsolve": ("solvers/solveset.py", "def linsolve("),
    "dsolve": ("solvers/ode/ode.py", "def dsolve("),
    "lambdify": ("utilities/lambdify.py", "def lambdify("),
    "primerange": ("ntheory/generate.py", "def primerange("),
    "factor_terms": ("core/exprtools.py", "def factor_terms("),
    # Names that several things have
    "solve": ("solvers/solvers.py", "def solve("),
    "diff": ("core/function.py", "def diff("),
    "integrate": ("integrals/integrals.py", "def integrate("),
    "expand": ("core/function.py", "def expand("),
    # Declared several times, made once
    "sympify": ("core/sympify.py", "def sympify(a, locals="),
    "Basic.subs": ("core/basic.py", "def subs(self, arg1: Mapping[Basic | complex, Basic | complex]$"),
    # Variables, one of them in the middle of a line
    "oo": ("core/numbers.py", "oo = S.Infinity"),
    "Eq": ("core/relational.py", "Eq = Equality"),
    "Rel": ("core/relational.py", "Rel = Relational"),
    "matrices.dense.Matrix": ("matrices/dense.py", "MutableMatrix = Matrix ="),
    # With what they lie in
    "MatrixBase.det": ("matrices/matrixbase.py", "def det("),
    "Expr.as_coeff_Mul": ("core/expr.py", "def as_coeff_Mul("),
    "Integral.doit": ("integrals/integrals.py", "def doit("),
    "Set.intersect": ("sets/sets.py", "def intersect("),
    "LatexPrinter._print_Add": ("printing/latex.py", "def _print_Add("),
    "sympy.core.symbol.Dummy.__new__": ("core/symbol.py", "def __new__(cls, name=None, dummy_index=None"),
    "sympy.core.relational.Equality": ("core/relational.py", "class Equality(Relational):"),
    # Handed on by the package, inherited, or both
    "sympy.Symbol": ("core/symbol.py", "class Symbol("),
    "sympy.simplify.trigsimp.trigsimp": ("simplify/trigsimp.py", "def trigsimp("),
    "Symbol.diff": ("core/expr.py", "def diff("),
    "Dummy.is_polynomial": ("core/expr.py", "def is_polynomial("),
}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    source, folder = Path(sysconfig.get_path("purelib")) / "sympy", tmp_path_factory.mktemp("project")
    for part in PARTS:
        shutil.copytree(source / part, folder / "sympy" / part, ignore=shutil.ignore_patterns("tests", "__pycache__"))
    shutil.copy(source / "__init__.py", folder / "sympy")
    lines = sum(file.read_bytes().count(b"\n") for file in folder.rglob("*.py"))
    assert lines >= LEAST
    return folder


async def defined(gate: Callgate, symbol: str) -> tuple[str, int]:
    found = (await gate.call("find_definition", {"symbol": symbol}, timeout=100)).unwrap()
    assert found["found"], symbol
    assert found["pending"] == 0
    return found["path"], found["line"]


@pytest.mark.slow
async def test_forty_symbols_are_found_exactly(project: Path) -> None:
    assert len(SYMBOLS) == 40
    wrong: dict[str, str] = {}
    async with opened(project) as gate:
        for symbol, (path, beginning) in SYMBOLS.items():
            place, number = await defined(gate, symbol)
            line = (project / place).read_text().split("\n")[number - 1].strip()
            if place != f"sympy/{path}" or not f"{line}$".startswith(beginning):
                wrong[symbol] = f"{place}:{number}: {line}"
    assert wrong == {}
