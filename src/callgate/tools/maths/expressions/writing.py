"""Writing what SymPy found in the words of the language, in which e is a number and E a name."""

from __future__ import annotations

import importlib
from functools import cache
from typing import Any


def written(solution: Any) -> str:
    """A solution as text.

    Raises:
        ValueError: A name in it would be read as the imaginary unit.
    """
    sympy: Any = importlib.import_module("sympy")
    if solution.has(sympy.I) and sympy.Symbol("I") in solution.free_symbols:
        raise ValueError("equation has a name I, and a solution has the imaginary unit, which is written so; rename it")
    return str(_printer().doprint(solution))


@cache
def _printer() -> Any:
    printing: Any = importlib.import_module("sympy.printing.str")

    class Printer(printing.StrPrinter):
        def _print_Exp1(self, _: Any) -> str:  # noqa: N802 - SymPy's own name for it
            return "e"

    return Printer()
