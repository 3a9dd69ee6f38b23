"""Equations with cube roots among polynomials: each root becomes an unknown of its own, and all of them are eliminated.

What is left is a polynomial, whose roots are all known; which of them solve the equation is told by putting them in.
SymPy's solver of systems gives [] of most of these, or the rational points only.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any

_WITH_RADICALS = 4
"""The highest degree of which roots have formulas; others are told as which root they are."""
_DIGITS = 90
_NOTHING = "1e-25"
"""What is as small is 0, of numbers with so many digits: a third of them is left of a cube root that should be 0."""


@dataclass(frozen=True, slots=True)
class _System:
    """An equation in which names stand for its cube roots."""

    whole: Any
    variable: Any
    inside: dict[Any, Any]
    """Of what each name is the cube root, from the outermost inwards."""

    @classmethod
    def of(cls, whole: Any, variable: Any) -> _System | None:
        """None where there are no cube roots of the variable, or something else than polynomials and quotients."""
        from callgate.tools.maths.expressions.cube_roots import cbrt  # noqa: PLC0415 - SymPy is an extra

        sympy: Any = importlib.import_module("sympy")
        roots = [root for root in sympy.ordered(whole.atoms(cbrt)) if root.has(variable)]
        names = {root: sympy.Dummy() for root in sorted(roots, key=sympy.count_ops, reverse=True)}
        inside = {name: root.args[0].xreplace(names) for root, name in names.items()}
        system = cls(whole.xreplace(names), variable, inside)
        # Anything but polynomials takes minutes, and leads nowhere.
        is_meant = all(each.is_rational_function(variable, *inside) for each in (system.whole, *inside.values()))
        return system if roots and is_meant else None

    def polynomial(self) -> Any:
        """What is 0 at each solution, and has the variable alone."""
        sympy: Any = importlib.import_module("sympy")
        left = sympy.fraction(sympy.together(self.whole))[0]
        for name, inside in self.inside.items():
            left = sympy.resultant(left, sympy.fraction(sympy.together(name**3 - inside))[0], name)
        return left

    def holds(self, solution: Any) -> bool:
        """Whether a number solves it, and each of its cube roots is of a real number."""
        sympy: Any = importlib.import_module("sympy")
        nothing = sympy.Float(_NOTHING, _DIGITS)
        values = {self.variable: solution.evalf(_DIGITS)}
        for name, inside in reversed(self.inside.items()):
            real, imaginary = inside.subs(values).evalf(_DIGITS).as_real_imag()
            if not real.is_number or not abs(imaginary) <= nothing * (1 + abs(real)):
                return False
            values[name] = sympy.sign(real) * sympy.cbrt(abs(real))
        size = sympy.Add(*[abs(part.subs(values).evalf(_DIGITS)) for part in self.whole.as_ordered_terms()])
        # Beside a division by 0 there is no value.
        if not (size.is_number and size.is_finite and size <= 1 / nothing):
            return False
        return bool(abs(self.whole.subs(values).evalf(_DIGITS)) <= nothing * size)


def is_eliminable(whole: Any, variable: Any) -> bool:
    """Whether it is made of polynomials and cube roots of the variable, and of no other names."""
    return not whole.free_symbols - {variable} and _System.of(whole, variable) is not None


def solved_by_elimination(whole: Any, variable: Any) -> list[Any]:
    """The solutions, all of them where the equation has no other names; a cube root is of real numbers only.

    Raises:
        NotImplementedError: There is no cube root, something else than polynomials, or a polynomial without formulas.
    """
    sympy: Any = importlib.import_module("sympy")
    system = _System.of(whole, variable)
    if system is None:
        raise NotImplementedError
    polynomial = system.polynomial()
    # It is 0 where a root is taken for one that is not real, and tells nothing.
    if not polynomial.has(variable):
        raise NotImplementedError
    factors = sympy.Poly(polynomial, variable).factor_list()[1]
    found = dict.fromkeys(root for factor, _ in factors for root in _roots(factor, system))
    return [one for one in sympy.ordered(found) if one.free_symbols or system.holds(one)]


def _roots(factor: Any, system: _System) -> list[Any]:
    sympy: Any = importlib.import_module("sympy")
    is_numbers = factor.domain.is_ZZ or factor.domain.is_QQ
    if factor.degree() > _WITH_RADICALS and is_numbers and not _has_complex(factor, system):
        return factor.real_roots()
    roots = sympy.roots(factor)
    if sum(roots.values()) < factor.degree():
        raise NotImplementedError
    return list(roots)


def _has_complex(factor: Any, system: _System) -> bool:
    """Whether a root that is not real is a solution: to tell those apart takes minutes, if they have no formula."""
    return any(system.holds(root) for root in factor.nroots(_DIGITS) if not root.is_real)
