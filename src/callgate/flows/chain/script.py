"""Script: what a chain calls, in order, with which values. All but assignments and calls is refused, by its place."""

from __future__ import annotations

import ast
import math
from dataclasses import dataclass, field
from typing import NamedTuple

from callgate.flows.chain.faults import ChainRefused, Diagnostic
from callgate.flows.chain.text import Text, parse
from callgate.flows.chain.values import (
    DEEPEST,
    HEAVIEST,
    HEAVIEST_TOGETHER,
    Item,
    Listing,
    Literal,
    Result,
    Table,
    Value,
    results_in,
)

MOST_CALLS = 500
_TOO_DEEP = "this is nested too deeply to be read"
_ONLY = "a chain has assignments and calls of tools, and nothing else"
_WHAT: dict[type[ast.AST], str] = {
    ast.Starred: "a list of arguments that is spread out",
    ast.JoinedStr: "a text with values in it",
    ast.BinOp: "an operation",
    ast.BoolOp: "an operation",
    ast.Compare: "a comparison",
    ast.IfExp: "a condition",
    ast.Lambda: "a function",
    ast.Slice: "a slice",
    ast.NamedExpr: "an assignment inside of a value",
    ast.If: "a condition",
    ast.For: "a loop",
    ast.While: "a loop",
    ast.Import: "an import",
    ast.ImportFrom: "an import",
    ast.FunctionDef: "a function",
    ast.AugAssign: "a change of a value",
    ast.Await: "await, which a chain does by itself",
}


class Written(NamedTuple):
    """One call as it is written."""

    tool: str
    line: int
    column: int
    positional: tuple[Value, ...]
    named: tuple[tuple[str, Value], ...]

    @property
    def needs(self) -> frozenset[int]:
        """The calls whose results it takes."""
        values = (*self.positional, *(value for _, value in self.named))
        return frozenset(place for value in values for place in results_in(value))


@dataclass(slots=True)
class Script:
    """A chain, read."""

    calls: list[Written] = field(default_factory=list[Written])
    names: dict[str, Value] = field(default_factory=dict[str, Value])
    """What each name stands for at the end."""


def read_script(source: str) -> Script:
    """The calls of a text, in the order Python would make them.

    Raises:
        ChainRefused: It is no chain; every statement that is none is told, with its place.
    """
    statements = parse(source)
    reader = _Reader(Text(source))
    faults: list[Diagnostic] = []
    for statement in statements:
        try:
            reader.statement(statement)
        except ChainRefused as refused:
            faults += refused.diagnostics
    if not statements:
        faults.append(Diagnostic(1, 1, "the text has no call"))
    if faults:
        raise ChainRefused(*faults)
    return reader.script


class _Reader:
    def __init__(self, text: Text) -> None:
        self._text = text
        self.script = Script()
        self._weight = 0
        self._refused: set[str] = set()
        """Names whose assignment was refused: that one fault is told, and not every use of the name."""

    def statement(self, statement: ast.stmt) -> None:
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
            self._value(statement.value)
        elif isinstance(statement, ast.Assign):
            self._assign(statement)
        elif isinstance(statement, ast.Expr) and type(statement.value) not in _WHAT:
            raise self._no(statement, f"this calls nothing; {_ONLY}")
        else:
            raise self._no(statement.value if isinstance(statement, ast.Expr) else statement)

    def _assign(self, statement: ast.Assign) -> None:
        (target, *more) = statement.targets
        if more or not isinstance(target, ast.Name):
            names = [node.id for each in statement.targets for node in ast.walk(each) if isinstance(node, ast.Name)]
            self._refused.update(names)
            raise self._no(statement, "a result is given one name, as in a = f(); write it so")
        try:
            value = self._value(statement.value)
            self._weigh(statement, value)
            self.script.names[target.id] = value
        except ChainRefused:
            self._refused.add(target.id)
            raise
        self._refused.discard(target.id)

    def _value(self, node: ast.expr, depth: int = 0) -> Value:
        if depth > DEEPEST:
            raise self._no(node, _TOO_DEEP)
        value = self._read(node, depth)
        if value.depth > DEEPEST:
            raise self._no(node, _TOO_DEEP)
        if value.weight > HEAVIEST:
            raise self._no(node, "this value is too large")
        return value

    def _weigh(self, node: ast.AST, *values: Value) -> None:
        """Count what is put together in the end: a name stands for all of its value, however short the text is."""
        self._weight += sum(value.weight for value in values)
        if self._weight > HEAVIEST_TOGETHER:
            raise self._no(node, "the values of this chain are too large together")

    def _read(self, node: ast.expr, depth: int) -> Value:
        match node:
            case ast.Call():
                return self._call(node, depth)
            case ast.Name():
                return self._name(node)
            case ast.Constant() | ast.UnaryOp():
                return Literal(self._constant(node))
            case ast.Attribute():
                return Item(self._value(node.value, depth + 1), Literal(node.attr), self._place(node))
            case ast.Subscript():
                key = self._value(node.slice, depth + 1)
                return Item(self._value(node.value, depth + 1), key, self._place(node))
            case ast.List() | ast.Tuple():
                return Listing(tuple(self._value(item, depth + 1) for item in node.elts))
            case ast.Dict():
                return self._table(node, depth)
            case _:
                raise self._no(node)

    def _call(self, node: ast.Call, depth: int) -> Value:
        tool = self._tool(node.func)
        positional = tuple(self._value(argument, depth + 1) for argument in node.args)
        named: dict[str, Value] = {}
        for keyword in node.keywords:
            if keyword.arg is None:
                raise self._no(keyword, "arguments are written one by one, and not spread out of a value")
            if keyword.arg in named:
                raise self._no(keyword, f"the argument {keyword.arg} is given twice")
            named[keyword.arg] = self._value(keyword.value, depth + 1)
        self._weigh(node, *positional, *named.values())
        place = self._text.at(node, "")
        self.script.calls.append(Written(tool, place.line, place.column, positional, tuple(named.items())))
        if len(self.script.calls) > MOST_CALLS:
            raise self._no(node, f"a chain has at most {MOST_CALLS} calls")
        return Result(len(self.script.calls) - 1)

    def _tool(self, node: ast.expr) -> str:
        words: list[str] = []
        root = node
        while isinstance(root, ast.Attribute):
            words.append(root.attr)
            root = root.value
        if not isinstance(root, ast.Name):
            raise self._no(node, "only tools can be called, by their names")
        if root.id in self.script.names:
            raise self._no(node, f"{root.id} is a result here, and results cannot be called")
        return ".".join([root.id, *reversed(words)])

    def _name(self, node: ast.Name) -> Value:
        if node.id in self.script.names:
            return self.script.names[node.id]
        if node.id in self._refused:
            return Literal(None)
        raise self._no(node, f"nothing before this is called {node.id}")

    def _constant(self, node: ast.Constant | ast.UnaryOp) -> str | float | bool | None:
        inner = node.operand if isinstance(node, ast.UnaryOp) else node
        value = inner.value if isinstance(inner, ast.Constant) else ...
        if not isinstance(value, str | int | float | None) or (isinstance(value, float) and not math.isfinite(value)):
            raise self._no(node, "this is no text, number, True, False or None" if value is not ... else None)
        if isinstance(node, ast.Constant):
            return value
        if isinstance(value, bool | str | None) or not isinstance(node.op, ast.USub | ast.UAdd):
            raise self._no(node)
        return -value if isinstance(node.op, ast.USub) else value

    def _table(self, node: ast.Dict, depth: int) -> Value:
        items: dict[str, Value] = {}
        for key, value in zip(node.keys, node.values, strict=True):
            if not isinstance(key, ast.Constant) or not isinstance(key.value, str):
                raise self._no(key or value, "the keys of an object are written as text")
            if key.value in items:
                raise self._no(key, "this key is given twice")
            items[key.value] = self._value(value, depth + 1)
        return Table(tuple(items.items()))

    def _place(self, node: ast.expr) -> str:
        place = self._text.at(node, "")
        return f"line {place.line}, column {place.column}"

    def _no(self, node: ast.AST, message: str | None = None) -> ChainRefused:
        return ChainRefused(self._text.at(node, message or f"{_WHAT.get(type(node), 'this')} is refused: {_ONLY}"))
