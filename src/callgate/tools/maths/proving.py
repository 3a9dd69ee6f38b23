"""Proving: an equation and its solutions held against numbers.

SymPy's solver says [] of what has no solution and of what always holds alike, and it may give what does not hold.
"""

from __future__ import annotations

import importlib
import itertools
from typing import Any

_SAMPLES = ("19717/26417", "-9973/7919", "27457/9871", "-31397/8117", "3433/26501", "-2411/27361")
"""Numbers that solve nothing by chance, and stay small enough for towers of powers."""
_BETWEEN = ("7907/20707", "15683/21673")
"""Two places between one corner and the next: one that is hit may be a solution by itself."""
_DIGITS = 20
_FEW_DIGITS = 3
_HIGHEST_EXPONENT = 10**5
_HIGHEST_DEGREE = 10
_ENOUGH = 2


class SolutionsUnknown(ValueError):
    """Nothing was found that solves it, and not that nothing does."""


def check_solvable(whole: Any, variable: Any) -> None:
    """That the equation `whole` = 0 holds at single points at most.

    Raises:
        ValueError: It holds everywhere, or in a range.
    """
    told = [(point, _vanishes(whole, {variable: point, **names})) for point, names in _points(whole, variable)]
    hit = [point for point, zero in told if zero]
    if len(hit) < _ENOUGH:
        return
    if all(zero is not False for _, zero in told):
        raise ValueError(f"equation holds for every {variable} that was tried; there is nothing to solve")
    others = sorted(map(str, whole.free_symbols - {variable}))
    # Which of them it depends on is not told: each place has values of its own for all.
    where = f"for some values of {', '.join([str(variable), *others])}" if others else f"for {variable} = {hit[0]}"
    more = f"; give {' and '.join(others)} values" if others else ""
    raise ValueError(
        f"equation holds in a whole range, {where} and beside, but not everywhere;"
        f" such solutions cannot be listed{more}"
    )


def holding(whole: Any, found: list[Any], *, of: Any, instead: str = "try optimize") -> list[Any]:
    """Those of the solutions that are not proven wrong by putting them in.

    Args:
        whole: What is to be 0.
        found: The solutions.
        of: The symbol that they are of.
        instead: What else may lead to one.

    Raises:
        SolutionsUnknown: None is left: what the solutions are is not known.
    """
    # Those of a polynomial are exact, and there may be many.
    if whole.is_polynomial(of):
        return found
    left = [solution for solution in found if not is_wrong(whole.subs(of, solution))]
    if found and not left:
        raise SolutionsUnknown(f"equation has no solution that SymPy finds and that holds when it is put in; {instead}")
    return left


def has_none(whole: Any, of: Any) -> bool:
    """Whether it is known that nothing solves it: that the solver finds nothing does not say so."""
    sympy: Any = importlib.import_module("sympy")
    if _is_empty(whole, of, among=sympy.S.Complexes):
        return True
    number = sympy.Dummy(real=True)
    # What is real whatever it is of, as a cube root, is some real number: where none solves it, nothing does.
    real = [part for part in whole.atoms(sympy.Function) if part.is_extended_real and part.has(of)]
    equations = (whole.xreplace({part: number}) for part in real)
    return any(not each.has(of) and _is_empty(each, number, among=sympy.S.Reals) for each in equations)


def every_real(whole: Any, of: Any) -> list[Any] | None:
    """All of its real solutions, where it is known that there are no others."""
    sympy: Any = importlib.import_module("sympy")
    if not whole.has(of):
        return [] if not whole.free_symbols and is_wrong(whole) else None
    if whole.free_symbols != {of}:
        return None
    found = _solution_set(whole, of, among=sympy.S.Reals)
    return list(found) if isinstance(found, sympy.FiniteSet) or found is sympy.S.EmptySet else None


def _is_empty(whole: Any, of: Any, *, among: Any) -> bool:
    return bool(_solution_set(whole, of, among=among) is importlib.import_module("sympy").S.EmptySet)


def _solution_set(whole: Any, of: Any, *, among: Any) -> Any:
    """What SymPy knows of all solutions; None where it cannot tell."""
    sympy: Any = importlib.import_module("sympy")
    try:
        return sympy.solveset(whole, of, among)
    except (MemoryError, RecursionError):  # pragma: no cover - only what takes gigabytes or ages gets here
        raise
    except Exception:  # noqa: BLE001 - SymPy has many ways to say that it cannot
        return None


def is_wrong(there: Any) -> bool:
    """Whether it is not 0, of an equation in which a solution was put."""
    sympy: Any = importlib.import_module("sympy")
    # With other names in it, it may hold for some of their values only: sqrt(x) = a.
    return there.has(sympy.nan, sympy.zoo) or (not there.free_symbols and _vanishes(there, {}) is False)


def is_always_zero(there: Any) -> bool:
    """Whether it is 0 for all values of its names that are tried, of an equation in which a solution was put."""
    if not there.free_symbols:
        return not is_wrong(there)
    return all(_vanishes(there, _values(there.free_symbols, at)) for at in range(len(_SAMPLES)))


def _vanishes(expression: Any, values: dict[Any, Any]) -> bool | None:
    """Whether it is 0 there; None where it has no value, or none that is known."""
    sympy: Any = importlib.import_module("sympy")
    there = expression.subs(values)
    if _grows_too_far(there):
        return None
    try:
        number = there.evalf(_DIGITS, strict=True)
    except sympy.core.evalf.PrecisionExhausted:
        # However many digits are taken, they cancel out.
        return True
    except (ArithmeticError, AttributeError, NotImplementedError, TypeError, ValueError):
        return None
    if not number.is_number or number.has(sympy.nan, sympy.zoo, sympy.oo, sympy.Function):
        return None
    return bool(number == 0)


def _grows_too_far(number: Any) -> bool:
    """Whether it is a tower of powers whose digits would take for ever: judged from its innermost power outwards."""
    sympy: Any = importlib.import_module("sympy")
    growing = (sympy.exp, sympy.gamma, sympy.factorial, sympy.sinh, sympy.cosh)
    for part in sympy.postorder_traversal(number):
        if isinstance(part, sympy.Pow) and not part.exp.is_Rational:
            exponent = part.exp
        elif isinstance(part, growing):
            exponent = part.args[0]
        else:
            continue
        size = abs(exponent.evalf(_FEW_DIGITS))
        if not (size.is_number and size.is_comparable and size <= _HIGHEST_EXPONENT):
            return True
    return False


def _points(whole: Any, variable: Any) -> list[tuple[Any, dict[Any, Any]]]:
    """Values of the variable, each with values for the other names."""
    sympy: Any = importlib.import_module("sympy")
    points = [sympy.Rational(sample) for sample in _SAMPLES] + _beside_corners(whole, variable)
    names = whole.free_symbols - {variable}
    return [(point, _values(names, at)) for at, point in enumerate(points)]


def _values(names: set[Any], at: int) -> dict[Any, Any]:
    """Other numbers for each name, and other ones at each place, so that signs and sizes come together in many ways."""
    sympy: Any = importlib.import_module("sympy")
    inward = sorted(names, key=str)
    return {
        name: sympy.Rational(_SAMPLES[(at // (place + 1) + place + 1) % len(_SAMPLES)]) / (place + 2)
        for place, name in enumerate(inward)
    }


def _beside_corners(whole: Any, variable: Any) -> list[Any]:
    """Places between the points where a formula may change what it is: an absolute value, a sign, a root."""
    sympy: Any = importlib.import_module("sympy")
    bent = [part.args[0] for part in whole.atoms(sympy.Abs, sympy.sign)]
    bent += [power.base for power in whole.atoms(sympy.Pow) if not power.exp.is_integer]
    corners = sorted({corner for inside in bent for corner in _zeros(inside, variable)})
    if not corners:
        return []
    ends = [corners[0] - 1, *corners, corners[-1] + 1]
    places = [sympy.Rational(place) for place in _BETWEEN]
    return [low + (high - low) * place for low, high in itertools.pairwise(ends) for place in places]


def _zeros(inside: Any, variable: Any) -> list[Any]:
    sympy: Any = importlib.import_module("sympy")
    if inside.free_symbols != {variable} or not inside.is_polynomial(variable):
        return []
    polynomial = sympy.Poly(inside, variable)
    if not 1 <= polynomial.degree() <= _HIGHEST_DEGREE or not polynomial.domain.is_QQ | polynomial.domain.is_ZZ:
        return []
    return [sympy.Rational(str(root.evalf(_DIGITS))) for root in sympy.real_roots(polynomial)]
