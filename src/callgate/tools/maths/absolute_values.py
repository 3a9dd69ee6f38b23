"""Equations with absolute values or signs, over the real numbers: abs(f) is f or -f, and each case is solved by itself.

SymPy solves abs(f) = 3 only of an f that it knows to be real, and with an unknown that is real it can think for minutes
about cubes. Cases are ordinary equations; which of their solutions belong to them is told by numbers.
"""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from callgate.tools.maths.proving import is_always_zero, is_wrong

Terms = TypeVar("Terms")
"""What tells whether a solution of a case belongs to it."""

_MOST_SIGNS = 3
_MOST_VALUES = 6
"""Absolute values, with two cases each for every one of the others."""
_DIGITS = 130
_NOTHING = "1e-40"
"""What is as small is taken to be 0, of numbers with so many digits: a third of them is left of a cube root of 0."""


@dataclass(frozen=True, slots=True)
class Solver:
    """What solves one case."""

    found: Callable[[Any], list[Any]]
    """Solutions, held against numbers; none only where it is proven that there is none."""
    every: Callable[[Any], list[Any]]
    """All that are real; an error where it is not known that these are all."""


def solved_by_cases(whole: Any, unknown: Any, *, solver: Solver) -> list[Any]:
    """The real solutions, and those of which it is not known because they have other names in them.

    Args:
        whole: What is to be 0.
        unknown: The symbol to solve for.
        solver: For one case.

    Raises:
        NotImplementedError: There is no absolute value of the unknown, there are too many, or a case cannot be solved.
        SolutionsUnknown: Nothing was found, and not that there is nothing.
    """

    def is_one(one: Any, at_least_zero: tuple[Any, ...]) -> bool:
        return _belongs(one, at_least_zero, of=unknown) and _solves(one, whole, of=unknown)

    found = _among(list(_cases(whole, unknown)), is_one, solver=solver)
    return _in_order(found)


def solved_by_signs(whole: Any, unknown: Any, *, solver: Solver) -> list[Any]:
    """The solutions where each sign is 1, -1 or 0: what a sign of the unknown becomes, SymPy's solver often overlooks.

    Args:
        whole: What is to be 0.
        unknown: The symbol to solve for.
        solver: For one case.

    Raises:
        NotImplementedError: There are too many signs, one is inside of another, or a case cannot be solved.
        SolutionsUnknown: Nothing was found, and not that there is nothing.
    """
    cases = list(_cases_of_signs(whole, unknown))
    return _in_order(_among(cases, lambda one, holds: holds(one), solver=solver))


def _in_order(found: list[Any]) -> list[Any]:
    """Numbers by their size, what is none before those above 0."""
    ordered: list[Any] = list(importlib.import_module("sympy").ordered(found))
    return sorted(ordered, key=_size)


def _size(one: Any) -> Any:
    size = None if one.free_symbols else _real(one)
    return 0 if size is None else size


def _among(cases: list[tuple[Any, Terms]], is_one: Callable[[Any, Terms], bool], *, solver: Solver) -> list[Any]:
    """What is found in the cases and is a solution by their terms; all that there are where that is nothing."""
    for solve in (solver.found, solver.every):
        found = _once([one for case, terms in cases for one in solve(case) if is_one(one, terms)])
        if found:
            return found
    return []


def _cases_of_signs(whole: Any, unknown: Any) -> Iterator[tuple[Any, Callable[[Any], bool]]]:
    """Each case, with what tells whether a solution of it is one."""
    sympy: Any = importlib.import_module("sympy")
    signs = [sign for sign in sympy.ordered(whole.atoms(sympy.sign)) if sign.has(unknown)]
    if len(signs) > _MOST_SIGNS or any(sign.args[0].has(sympy.sign) for sign in signs):
        raise NotImplementedError
    # SymPy's own numbers: nothing may be left of the equation but this.
    for values in itertools.product((sympy.S.One, sympy.S.NegativeOne, sympy.S.Zero), repeat=len(signs)):
        known = dict(zip(signs, values, strict=True))
        case = whole.xreplace(known)
        zeros = [sign.args[0] for sign, value in known.items() if value == 0]
        if not zeros:
            yield case, partial(_has_signs, known, whole=whole, of=unknown)
        elif case.free_symbols or not is_wrong(case):
            # Where a sign is 0 the equation was not solved: its other names may have any value there.
            yield zeros[0], lambda one: is_always_zero(whole.subs(unknown, one))


def _has_signs(known: dict[Any, Any], one: Any, *, whole: Any, of: Any) -> bool:
    """Whether a solution of a case has the signs of the case: by digits, by which its cube roots are real as well."""
    number = _real(one) if whole.free_symbols == {of} and not one.free_symbols else None
    if number is None:
        return not is_wrong(whole.subs(of, one))
    sizes = [(value, _real(sign.args[0].subs(of, number))) for sign, value in known.items()]
    return all(size is not None and bool(value * size > _nothing()) for value, size in sizes)


def _cases(whole: Any, unknown: Any, *, at_least_zero: tuple[Any, ...] = ()) -> Iterator[tuple[Any, tuple[Any, ...]]]:
    """Each case, with what has to be at least 0 in it."""
    sympy: Any = importlib.import_module("sympy")
    values = [value for value in sympy.ordered(whole.atoms(sympy.Abs)) if value.has(unknown)]
    if len(values) + len(at_least_zero) > _MOST_VALUES or not (values or at_least_zero):
        raise NotImplementedError
    if not values:
        yield whole, at_least_zero
        return
    # One at a time, and an innermost one: of those around it, SymPy makes others (Abs(-x - 2) is Abs(x + 2)).
    value = min(values, key=sympy.count_ops)
    for bare in (value.args[0], -value.args[0]):
        yield from _cases(whole.xreplace({value: bare}), unknown, at_least_zero=(*at_least_zero, bare))


def _once(found: list[Any]) -> list[Any]:
    """Each once, also where it is written in two ways."""
    told: dict[Any, Any] = {}
    for one in dict.fromkeys(found):
        digits = one if one.free_symbols else one.evalf(_DIGITS)
        if one.free_symbols or not any(_is_near(digits, other) for other in told.values()):
            told[one] = digits
    return list(told)


def _is_near(one: Any, other: Any) -> bool:
    return not other.free_symbols and bool(abs(one - other) <= _nothing() * (1 + abs(one)))


def _belongs(solution: Any, at_least_zero: tuple[Any, ...], *, of: Any) -> bool:
    """Whether a solution is real, as far as that can be told, and one of its case."""
    if solution.free_symbols:
        return True
    number = _real(solution)
    return number is not None and all(_is_at_least_zero(part.subs(of, number)) for part in at_least_zero)


def _solves(one: Any, whole: Any, *, of: Any) -> bool:
    """Whether it is 0 there, as far as that can be told: by digits, since SymPy takes long to tell a sign of roots."""
    sympy: Any = importlib.import_module("sympy")
    if one.free_symbols or whole.free_symbols != {of}:
        return not is_wrong(whole.subs(of, one))
    parts = [part.subs(of, _real(one)).evalf(_DIGITS) for part in sympy.Add.make_args(whole)]
    size = sympy.Add(*map(abs, parts))
    return bool(size.is_finite and abs(sum(parts)) <= _nothing() * (1 + size))


def _is_at_least_zero(there: Any) -> bool:
    if there.free_symbols:
        return True
    size = _real(there)
    # What is exact needs no room for rounding.
    return size is not None and bool(size >= (0 if size.is_Rational else -_nothing()))


def _real(number: Any) -> Any:
    """The digits of a number, or itself where it is exact; None where it is not real, but for what rounding adds."""
    sympy: Any = importlib.import_module("sympy")
    # Roots of a polynomial know whether they are real, and the digits of those that are not take seconds.
    if isinstance(number, sympy.CRootOf) and not number.is_real:
        return None
    real, imaginary = (number if number.is_Rational else number.evalf(_DIGITS)).as_real_imag()
    if not real.is_Float and not real.is_Rational:
        return None
    return real if abs(imaginary) <= _nothing() * (1 + abs(real)) else None


def _nothing() -> Any:
    return importlib.import_module("sympy").Float(_NOTHING, _DIGITS)
