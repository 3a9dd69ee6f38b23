"""From the tree to SymPy, node by node: SymPy sees numbers, symbols and its own functions, and never a text of a user.

Only what has a symbolic meaning is taken: no lists, loops, choices or comparisons.
"""

from __future__ import annotations

import decimal
import importlib
from types import MappingProxyType
from typing import Any

from callgate.tools.maths.expressions import tree

_LARGEST_EXPONENT = 1000

_FUNCTIONS = MappingProxyType(
    {
        "abs": "Abs",
        "acos": "acos",
        "acosh": "acosh",
        "asin": "asin",
        "asinh": "asinh",
        "atan": "atan",
        "atan2": "atan2",
        "atanh": "atanh",
        "cos": "cos",
        "cosh": "cosh",
        "erf": "erf",
        "erfc": "erfc",
        "exp": "exp",
        "factorial": "factorial",
        "gamma": "gamma",
        "log": "log",
        "sign": "sign",
        "sin": "sin",
        "sinh": "sinh",
        "sqrt": "sqrt",
        "tan": "tan",
        "tanh": "tanh",
    }
)
_LARGEST_FACTORIAL = 500


def symbolic(expression: tree.Tree, *, argument: str) -> Any:
    """The expression as SymPy has it.

    Raises:
        ValueError: It has a part without a symbolic meaning.
    """
    return _Builder(argument).node(expression.root)


class _Builder:
    def __init__(self, argument: str) -> None:
        self._argument = argument
        self._sympy: Any = importlib.import_module("sympy")

    def node(self, node: tree.Node) -> Any:
        if isinstance(node, (tree.Number, tree.Constant, tree.Name)):
            return self._leaf(node)
        if isinstance(node, tree.Unary) and node.operator != "not":
            inside = self.node(node.operand)
            return -inside if node.operator == "-" else inside
        if isinstance(node, tree.Binary):
            return self._binary(node)
        if isinstance(node, tree.Call):
            return self._call(node)
        kind = type(node).__name__.lower()
        raise ValueError(f"{self._argument} has a part ({kind}) that cannot be solved for; write one equation")

    def _leaf(self, node: tree.Number | tree.Constant | tree.Name) -> Any:
        if isinstance(node, tree.Name):
            return self._sympy.Symbol(node.name)
        if isinstance(node, tree.Constant):
            if node.name == "inf":
                raise ValueError(f"{self._argument} has inf, with which nothing is solved; write a number")
            return {"pi": self._sympy.pi, "e": self._sympy.E, "tau": 2 * self._sympy.pi}[node.name]
        if isinstance(node.value, int):
            return self._sympy.Integer(int(node.value))
        # As it was written, not as a float has it: 0.1 is one tenth.
        return self._sympy.Rational(*decimal.Decimal(repr(node.value)).as_integer_ratio())

    def _binary(self, node: tree.Binary) -> Any:
        left, right = self.node(node.left), self.node(node.right)
        if node.operator == "/" and right == 0:
            raise ValueError(f"{self._argument} divides by zero")
        if node.operator == "**":
            return self._power(left, right)
        operations = {
            "+": lambda: left + right,
            "-": lambda: left - right,
            "*": lambda: left * right,
            "/": lambda: left / right,
        }
        if node.operator not in operations:
            raise ValueError(f"{self._argument} uses {node.operator}, which cannot be solved for")
        return operations[node.operator]()

    def _power(self, base: Any, exponent: Any) -> Any:
        # Anything numeric counts: 10**(10**9) is a number that fits into no memory.
        if _is_over(exponent, _LARGEST_EXPONENT):
            raise ValueError(f"{self._argument} has an exponent over {_LARGEST_EXPONENT}; make it smaller")
        return base**exponent

    def _call(self, node: tree.Call) -> Any:
        arguments = [self.node(argument) for argument in node.arguments]
        if node.function == "power":
            return self._power(*arguments)
        if node.function in ("log2", "log10"):
            return self._sympy.log(arguments[0], int(node.function[3:]))
        if node.function == "cbrt":
            return cube_root(arguments[0])
        name = _FUNCTIONS.get(node.function)
        if name is None:
            raise ValueError(f"{self._argument} uses {node.function}, which cannot be solved for")
        if name in ("factorial", "gamma") and _is_over(arguments[0], _LARGEST_FACTORIAL):
            raise ValueError(f"{self._argument} has a {name} over {_LARGEST_FACTORIAL}; make it smaller")
        return getattr(self._sympy, name)(*arguments)


def cube_root(of: Any) -> Any:
    """`cbrt` of the language."""
    from callgate.tools.maths.expressions.cube_roots import cbrt  # noqa: PLC0415 - SymPy is an extra

    return cbrt(of)


def _is_over(number: Any, most: int) -> bool:
    """Whether something numeric is larger, or cannot be told to be smaller."""
    if not number.is_number:
        return False
    try:
        return not abs(number) <= most
    except TypeError:
        return True
