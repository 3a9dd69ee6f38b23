"""The tree of an expression: everything the language can say, and nothing else. Knows neither text nor values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Number:
    """A number as it was written."""

    value: int | float


@dataclass(frozen=True, slots=True)
class Name:
    """A variable, or what a comprehension runs through."""

    name: str


@dataclass(frozen=True, slots=True)
class Constant:
    """A number with a name: pi."""

    name: str


@dataclass(frozen=True, slots=True)
class Unary:
    """One operator before one operand: `-`, `+`, `not`."""

    operator: str
    operand: Node


@dataclass(frozen=True, slots=True)
class Binary:
    """One operator between two operands: `+ - * / // % **`."""

    operator: str
    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class Compare:
    """Comparisons in a row: `0 < x <= 1`."""

    first: Node
    rest: tuple[tuple[str, Node], ...]


@dataclass(frozen=True, slots=True)
class Logic:
    """`and` or `or` between parts."""

    operator: str
    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """`then if test else otherwise`."""

    test: Node
    then: Node
    otherwise: Node


@dataclass(frozen=True, slots=True)
class Items:
    """A list of numbers, written out."""

    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Index:
    """One item, counted from 0 or, negative, from the end."""

    of: Node
    at: Node


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a list: `[first:last:step]`."""

    of: Node
    first: Node | None
    last: Node | None
    step: Node | None


@dataclass(frozen=True, slots=True)
class Loop:
    """`for name in over if … if …`."""

    name: str
    over: Node
    tests: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Comprehension:
    """A list made by loops, the first outermost."""

    item: Node
    loops: tuple[Loop, ...]


@dataclass(frozen=True, slots=True)
class Call:
    """A function of the language, by its one name here, with its arguments."""

    function: str
    arguments: tuple[Node, ...]
    keywords: tuple[tuple[str, Node], ...]


Node: TypeAlias = (
    Number | Name | Constant | Unary | Binary | Compare | Logic | Choice | Items | Index | Part | Comprehension | Call
)


@dataclass(frozen=True, slots=True)
class Tree:
    """A whole expression."""

    root: Node
    size: int
    """How many nodes were read."""
    names: frozenset[str]
    """The variables it uses."""
