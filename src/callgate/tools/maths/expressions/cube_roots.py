"""cbrt for SymPy as the language has it: the real cube root, of negative numbers too.

SymPy's own is x**(1/3), which is not real for them: by it cbrt(x) = -2 has no solution.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

_sympy: Any = importlib.import_module("sympy")


class cbrt(_sympy.Function):  # noqa: N801 - solutions are written with it, as the language does
    """A root that is known is taken; one of a symbol stays as it was written."""

    is_extended_real = True

    @classmethod
    def eval(cls, number: Any) -> Any:
        """What SymPy asks for when one is made; None where it has to stay."""
        if not number.is_number:
            return None
        if number.is_extended_real is False:
            return _sympy.nan
        if number.is_negative:
            return -_sympy.cbrt(-number)
        return _sympy.cbrt(number) if number.is_nonnegative else None

    def inverse(self, argindex: int = 1) -> Callable[[Any], Any]:  # noqa: ARG002 - SymPy's signature
        """What SymPy solves by."""
        return lambda root: root**3
