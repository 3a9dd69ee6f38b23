"""Reading an expression: text in, a tree out, or a ValueError that says what is not understood.

The text may hold few characters (no quotes, braces, backslashes, nothing outside ASCII), is parsed by `ast` and walked
once. Each node of Python's syntax that the language has is copied; every other is refused. Nothing is evaluated.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable, Iterable
from typing import Any, ClassVar, NoReturn, cast

from callgate.tools.maths.expressions import tree
from callgate.tools.maths.expressions.foreign import foreign
from callgate.tools.maths.expressions.mistakes import mistaken, shown
from callgate.tools.maths.expressions.names import (
    ARITIES,
    CONSTANTS,
    IMAGINARY,
    KEYWORDS,
    NO_IMAGINARY,
    OF_LISTS,
    PREFIXES,
    function_called,
    meant_by,
)
from callgate.tools.maths.expressions.unreadable import example, why_unreadable

LONGEST = 4000
DEEPEST = 100
MOST_BRACKETS = 50
MOST_NODES = 1000
MOST_LOOPS = 3
MOST_DIGITS = 1000

_ALLOWED = re.compile(r"[0-9A-Za-z_ .,+\-*/%()\[\]<>=!^:]*")
_PLAIN = re.compile(r"[A-Za-z](?:_?[A-Za-z0-9])*_?")
_NOT_ZERO = re.compile(r"[0._]*[1-9]")
_LONGEST_NAME = 32
_RESERVED = PREFIXES | CONSTANTS | {"True", "False", "None"}

_BINARY: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
}
_UNARY: dict[type[ast.unaryop], str] = {ast.USub: "-", ast.UAdd: "+", ast.Not: "not"}
_COMPARE: dict[type[ast.cmpop], str] = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
}
_CALLED_WRONGLY: dict[type[ast.expr], str] = {
    ast.Lambda: "lambda",
    ast.NamedExpr: ":=",
    ast.Attribute: "an attribute",
    ast.Slice: "a slice outside [ ]",
    ast.Starred: "*",
    ast.Await: "await",
    ast.Yield: "yield",
    ast.YieldFrom: "yield",
}


def read(text: str, variables: Iterable[str] | None, *, argument: str = "expression") -> tree.Tree:
    """Read an expression.

    Args:
        text: What somebody wrote.
        variables: The names it may use; None for any that is no function or constant.
        argument: What the text is called in messages.

    Raises:
        ValueError: It is not in the language.
    """
    known = None if variables is None else frozenset(variables)
    plain = " ".join(text.split())
    # There are no texts in the language: space never matters, and ^ can only be meant as a power.
    parsed = _parsed(plain, argument, instead=example(known))
    reader = _Reader(argument, known, text=plain.replace("^", "**"))
    root = reader.node(parsed, 0)
    return tree.Tree(root, reader.count, frozenset(reader.used))


def is_variable(name: str) -> bool:
    """Whether a variable may have that name."""
    plain = len(name) <= _LONGEST_NAME and _PLAIN.fullmatch(name) is not None
    return plain and name not in _RESERVED and function_called(name) is None


def _parsed(plain: str, argument: str, *, instead: str) -> ast.expr:
    if not plain:
        raise ValueError(f"{argument} is empty; {instead}")
    if len(plain) > LONGEST:
        raise ValueError(f"{argument} is longer than {LONGEST} characters; make it shorter")
    allowed = cast("re.Match[str]", _ALLOWED.match(plain)).end()
    if allowed < len(plain):
        what = foreign(plain, allowed)
        raise ValueError(f"{argument} {what}" if "; " in what else f"{argument} {what}; {instead}")
    _check_brackets(plain, argument)
    mistake = mistaken(plain)
    if mistake is not None:
        raise ValueError(f"{argument} {mistake}")
    try:
        return ast.parse(plain.replace("^", "**"), mode="eval").body
    except (SyntaxError, ValueError) as error:
        why = why_unreadable(plain)
        if why is not None:
            raise ValueError(f"{argument} cannot be read: it {why}") from None
        why = getattr(error, "msg", "a number with too many digits")
        raise ValueError(f"{argument} cannot be read: {why}, in '{shown(plain)}'; {instead}") from None
    except (MemoryError, RecursionError):
        raise ValueError(f"{argument} is nested too deeply; make it simpler") from None


def _check_brackets(text: str, argument: str) -> None:
    depth = 0
    for character in text:
        depth += (character in "([") - (character in ")]")
        if depth > MOST_BRACKETS:
            raise ValueError(f"{argument} is nested too deeply (over {MOST_BRACKETS} brackets); make it simpler")


class _Reader:
    """One walk over Python's tree: counts, bounds, and copies what the language has."""

    def __init__(self, argument: str, variables: frozenset[str] | None, *, text: str) -> None:
        self.argument = argument
        self._text = text
        self.count = 0
        self.used: set[str] = set()
        self._variables = variables
        self._loops: list[str] = []

    def node(self, given: ast.expr, depth: int) -> tree.Node:
        self.count += 1
        if depth > DEEPEST:
            self._refuse(f"is nested too deeply (over {DEEPEST} levels); make it simpler")
        if self.count > MOST_NODES:
            self._refuse(f"has over {MOST_NODES} parts; make it shorter")
        copy = self._copies.get(type(given))
        if copy is None:
            what = _CALLED_WRONGLY.get(type(given), type(given).__name__)
            self._refuse(f"uses {what}, which is not in the language; {example(self._variables)}")
        return copy(self, cast("Any", given), depth + 1)

    def _number(self, given: ast.Constant, _: int) -> tree.Node:
        value = given.value
        if type(value) not in (int, float, bool):
            self._refuse(f"has {str(value)[:20]!a}, which is no real number; {NO_IMAGINARY}")
        if type(value) is int and value.bit_length() > MOST_DIGITS * 3:
            self._refuse("has a number with too many digits")
        if value == math.inf:
            self._refuse(
                "has a number that is too large for a float, which ends at 1.8e308; make it smaller, or write inf"
            )
        if value == 0 and _NOT_ZERO.match(self._text[given.col_offset : given.end_col_offset]):
            self._refuse("has a number that is too small for a float, which ends at 5e-324; make it larger, or write 0")
        return tree.Number(cast("int | float", value))

    def _name(self, given: ast.Name, _: int) -> tree.Node:
        name = given.id
        if name in self._loops:
            return tree.Name(name)
        known = is_variable(name) if self._variables is None else name in self._variables
        if known:
            self.used.add(name)
            return tree.Name(name)
        return tree.Constant(name) if name in CONSTANTS else self._unknown(name)

    def _attribute(self, given: ast.Attribute, _: int) -> tree.Node:
        name = self._after_prefix(given)
        return tree.Constant(name) if name in CONSTANTS else self._unknown(name)

    def _unary(self, given: ast.UnaryOp, depth: int) -> tree.Node:
        operator = _UNARY.get(type(given.op)) or self._refuse("uses ~, which is not in the language")
        return tree.Unary(operator, self.node(given.operand, depth))

    def _binary(self, given: ast.BinOp, depth: int) -> tree.Node:
        operator = _BINARY.get(type(given.op))
        if operator is None:
            self._refuse(f"uses the operator {type(given.op).__name__}, which is not in the language")
        return tree.Binary(operator, self.node(given.left, depth), self.node(given.right, depth))

    def _compare(self, given: ast.Compare, depth: int) -> tree.Node:
        rest: list[tuple[str, tree.Node]] = []
        for op, operand in zip(given.ops, given.comparators, strict=True):
            operator = _COMPARE.get(type(op)) or self._refuse("uses `in` or `is`, which are not in the language")
            rest.append((operator, self.node(operand, depth)))
        return tree.Compare(self.node(given.left, depth), tuple(rest))

    def _logic(self, given: ast.BoolOp, depth: int) -> tree.Node:
        operator = "and" if isinstance(given.op, ast.And) else "or"
        return tree.Logic(operator, self._nodes(given.values, depth))

    def _choice(self, given: ast.IfExp, depth: int) -> tree.Node:
        return tree.Choice(self.node(given.test, depth), self.node(given.body, depth), self.node(given.orelse, depth))

    def _items(self, given: ast.List | ast.Tuple, depth: int) -> tree.Node:
        return tree.Items(self._nodes(given.elts, depth))

    def _subscript(self, given: ast.Subscript, depth: int) -> tree.Node:
        of = self.node(given.value, depth)
        if not isinstance(given.slice, ast.Slice):
            return tree.Index(of, self.node(given.slice, depth))
        ends = (given.slice.lower, given.slice.upper, given.slice.step)
        first, last, step = (None if end is None else self.node(end, depth) for end in ends)
        return tree.Part(of, first, last, step)

    def _comprehension(self, given: ast.ListComp | ast.GeneratorExp, depth: int) -> tree.Node:
        if len(given.generators) > MOST_LOOPS:
            self._refuse(f"has a list with over {MOST_LOOPS} loops; make it simpler")
        outer = len(self._loops)
        loops = tuple([self._loop(loop, depth) for loop in given.generators])
        item = self.node(given.elt, depth)
        del self._loops[outer:]
        return tree.Comprehension(item, loops)

    def _call(self, given: ast.Call, depth: int) -> tree.Node:
        function = self._function(given)
        arguments = self._nodes(given.args, depth)
        keywords = tuple([(self._keyword(function, key), self.node(key.value, depth)) for key in given.keywords])
        self._check_arity(function, given, named=[name for name, _ in keywords])
        return tree.Call(function, arguments, keywords)

    def _check_arity(self, function: str, given: ast.Call, *, named: list[str]) -> None:
        fewest, most = ARITIES[function]
        count = len(given.args)
        if not fewest <= count <= most:
            takes = str(fewest) if fewest == most else f"{fewest} to {most}"
            listed = f", a list; write {self._with_list(function, given)}" if function in OF_LISTS else ""
            self._refuse(f"gives {function} {count} arguments, and it takes {takes}{listed}")
        if len(set(named)) < len(named) or any(count > KEYWORDS[function][name] for name in named):
            self._refuse(f"gives {function} the argument {named[0]} twice")

    def _with_list(self, function: str, given: ast.Call) -> str:
        inside = self._text[self._bracket(given) + 1 : cast("int", given.end_col_offset) - 1]
        is_short = len(inside) <= _LONGEST_NAME and given.args and not given.keywords
        return f"{function}([{inside if is_short else '…'}])"

    def _bracket(self, given: ast.Call) -> int:
        """Where that of a call opens."""
        return self._text.index("(", cast("int", given.func.end_col_offset))

    def _loop(self, given: ast.comprehension, depth: int) -> tree.Loop:
        over = self.node(given.iter, depth)
        target = given.target
        if not isinstance(target, ast.Name) or not is_variable(target.id) or given.is_async:
            self._refuse("has a loop whose variable is no plain name; write it as in sum(k**2 for k in range(10))")
        self._loops.append(target.id)
        return tree.Loop(target.id, over, self._nodes(given.ifs, depth))

    def _function(self, given: ast.Call) -> str:
        called = given.func
        if isinstance(called, ast.Attribute):
            name = self._after_prefix(called)
        elif isinstance(called, ast.Name) and not self._is_number(called.id):
            name = called.id
        else:
            self._refuse_product(given)
        return function_called(name) or self._unknown_function(name)

    def _is_number(self, name: str) -> bool:
        mine = self._variables is not None and name in self._variables
        return mine or name in self._loops or name in CONSTANTS

    def _refuse_product(self, given: ast.Call) -> NoReturn:
        """2(3 + 4): only a name is called."""
        bracket = self._bracket(given)
        begin, after = self._text[given.col_offset : bracket], self._text[bracket : given.end_col_offset]
        self._refuse(
            f"calls '{shown(begin)}' as if it were a function, and it is no name of a function; "
            f"for a product write *, as in {shown(begin.strip())}*{shown(after)}"
        )

    def _after_prefix(self, given: ast.Attribute) -> str:
        name = given.attr
        if isinstance(given.value, ast.Name) and given.value.id in PREFIXES:
            return name
        function = function_called(name) is not None
        if function or name in CONSTANTS:
            written = f"{name}(…)" if function else name
            self._refuse(f"has {name} after a dot; only np., numpy. and math. may stand there, so write {written}")
        return self._refuse(f"takes the attribute {_shown(name)}; only np., numpy. and math. may stand before a dot")

    def _keyword(self, function: str, given: ast.keyword) -> str:
        if given.arg is None or given.arg not in KEYWORDS.get(function, ()):
            self._refuse(f"gives {function} the argument {_shown(given.arg or '**')} by name, which it does not take")
        return given.arg

    def _nodes(self, given: Iterable[ast.expr], depth: int) -> tuple[tree.Node, ...]:
        return tuple([self.node(one, depth) for one in given])

    def _unknown(self, name: str) -> NoReturn:
        if function_called(name):
            self._refuse(f"has the function {name} without brackets; write {name}(…)")
        if self._variables is None:
            self._refuse(f"has the name {_shown(name)}, which no variable may have")
        mine = sorted(self._variables)
        meant = meant_by(name, [*mine, *self._loops])
        here = f"variables here: {', '.join(mine)}" if mine else "there are no variables here, only numbers"
        if name in IMAGINARY:
            here = f"{NO_IMAGINARY}; {here}"
        hint = f"did you mean {meant}?" if meant else here
        self._refuse(f"has the name {_shown(name)}, which is not known; {hint}")

    def _unknown_function(self, name: str) -> NoReturn:
        meant = meant_by(name)
        hint = f"did you mean {meant}?" if meant else "write it with others, such as exp, log, sqrt and sum"
        self._refuse(f"calls the function {_shown(name)}, which is not known; {hint}")

    def _refuse(self, why: str) -> NoReturn:
        raise ValueError(f"{self.argument} {why}")

    _copies: ClassVar[dict[type[ast.expr], Callable[[_Reader, Any, int], tree.Node]]] = {
        ast.Constant: _number,
        ast.Name: _name,
        ast.Attribute: _attribute,
        ast.UnaryOp: _unary,
        ast.BinOp: _binary,
        ast.Compare: _compare,
        ast.BoolOp: _logic,
        ast.IfExp: _choice,
        ast.List: _items,
        ast.Tuple: _items,
        ast.Subscript: _subscript,
        ast.ListComp: _comprehension,
        ast.GeneratorExp: _comprehension,
        ast.Call: _call,
    }
    """What the language has of Python's syntax."""


def _shown(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}…"
