"""Compiling: a tree becomes a function over values, made of small functions of our own, one per node."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from sys import getsizeof
from typing import Any, TypeAlias, cast

import numpy as np

from callgate.tools.maths.expressions import tree
from callgate.tools.maths.expressions.budget import Budget
from callgate.tools.maths.expressions.functions import FUNCTIONS
from callgate.tools.maths.expressions.operators import BINARY, UNARY, truth
from callgate.tools.maths.expressions.values import (
    MOST_HELD,
    Array,
    Plain,
    TooLarge,
    Undefined,
    Value,
    bytes_of,
    checked_size,
    floats,
    plain,
    whole,
)

_PER_STEP = 16
"""Items of an array that count as one step."""
_PER_CALL = 8
"""Steps that a call of a function counts for by itself."""
_IN_A_LIST = 8
"""Bytes of a number's place there."""
_CONSTANTS = {"pi": math.pi, "e": math.e, "tau": math.tau, "inf": math.inf}


@dataclass(slots=True)
class Frame:
    """One evaluation: what the names mean, and what may still be spent."""

    names: dict[str, Value]
    budget: Budget
    held: int = 0
    """Bytes of what was made and is still needed while more is made."""

    def hold(self, value: Value) -> None:
        """Count a value that waits for others. Whoever waits puts `held` back when it is done.

        Raises:
            ValueError: All that waits takes too much memory.
        """
        if isinstance(value, (int, float)):
            return
        self._count(bytes_of(value))

    def hold_number(self, value: Plain) -> None:
        """Count a number that waits in a list for others; as `hold`."""
        self._count(_IN_A_LIST + getsizeof(value))

    def _count(self, size: int) -> None:
        self.held += size
        if self.held > MOST_HELD:
            raise ValueError("the expression needs too many lists at once; make them shorter, or fewer")


Step = Callable[[Frame], Value]
Truth: TypeAlias = bool | Array


@dataclass(frozen=True, slots=True)
class Formula:
    """A compiled expression: call it with a budget and its variables, inside `quiet()`."""

    step: Step
    size: int

    def __call__(self, budget: Budget, names: dict[str, Value]) -> Value:
        """The value.

        Raises:
            Undefined: It has none here.
            ValueError: It cannot be computed, or takes too much.
        """
        budget.spend(self.size)
        return self.step(Frame(names, budget))

    def number(self, budget: Budget, names: dict[str, Value]) -> float:
        """The value as one float; not a number where it is undefined.

        Raises:
            ValueError: It is a list, or takes too much.
        """
        try:
            value = self(budget, names)
        except Undefined:
            return math.nan
        return float(floats(plain(value, "the value of the expression")))


def compiled(expression: tree.Tree) -> Formula:
    """A function of the variables."""
    return Formula(_step(expression.root), expression.size)


def quiet() -> contextlib.AbstractContextManager[Any]:
    """Infinities and what is not a number are values until the end: no warnings on the way."""
    return np.errstate(all="ignore")


def _step(node: tree.Node) -> Step:
    return _STEPS[type(node)](node)


def _spent(frame: Frame, value: Value) -> Value:
    """Pay for what was made, by its size."""
    if isinstance(value, np.ndarray):
        frame.budget.spend(value.size // _PER_STEP)
    elif isinstance(value, list):
        frame.budget.spend(len(value))
    return value


def _number(node: tree.Number) -> Step:
    value = node.value
    return lambda _: value


def _constant(node: tree.Constant) -> Step:
    value = _CONSTANTS[node.name]
    return lambda _: value


def _waiting(node: tree.Node) -> Step:
    """As `_step`, and what it makes is counted: it waits for what comes after it. A name's value is there anyway."""
    step = _step(node)
    if isinstance(node, (tree.Number, tree.Constant, tree.Name)):
        return step

    def run(frame: Frame) -> Value:
        value = step(frame)
        frame.hold(value)
        return value

    return run


def _done(run: Step) -> Step:
    """What is done needs nothing any more of what waited for it."""

    def step(frame: Frame) -> Value:
        held = frame.held
        value = run(frame)
        frame.held = held
        return value

    return step


def _name(node: tree.Name) -> Step:
    name = node.name
    return lambda frame: frame.names[name]


def _unary(node: tree.Unary) -> Step:
    apply, operand = UNARY[node.operator], _step(node.operand)
    return lambda frame: _spent(frame, apply(operand(frame)))


def _binary(node: tree.Binary) -> Step:
    apply, left, right = BINARY[node.operator], _step(node.left), _step(node.right)

    def run(frame: Frame) -> Value:
        one = left(frame)
        if isinstance(one, (int, float)):
            return _spent(frame, apply(one, right(frame)))
        held = frame.held
        frame.hold(one)
        value = _spent(frame, apply(one, right(frame)))
        frame.held = held
        return value

    return run


def _compare(node: tree.Compare) -> Step:
    first = _waiting(node.first)
    rest = [(BINARY[operator], _waiting(operand)) for operator, operand in node.rest]

    def run(frame: Frame) -> Value:
        left = first(frame)
        held: Truth = True
        for apply, operand in rest:
            right = operand(frame)
            held = _both(held, truth(_spent(frame, apply(left, right))))
            left = right
        return held

    return _done(run)


def _both(one: Truth, other: Truth) -> Truth:
    if isinstance(one, bool) and isinstance(other, bool):
        return one and other
    return np.logical_and(one, other)


def _either(one: Truth, other: Truth) -> Truth:
    if isinstance(one, bool) and isinstance(other, bool):
        return one or other
    return np.logical_or(one, other)


def _logic(node: tree.Logic) -> Step:
    parts = [_waiting(part) for part in node.parts]
    join = _both if node.operator == "and" else _either
    stops = node.operator == "or"

    def run(frame: Frame) -> Value:
        held: Truth = not stops
        for part in parts:
            held = join(held, truth(part(frame)))
            if held is stops:
                return held
        return _spent(frame, held)

    return _done(run)


def _choice(node: tree.Choice) -> Step:
    test, then, otherwise = _waiting(node.test), _waiting(node.then), _step(node.otherwise)

    def run(frame: Frame) -> Value:
        held = truth(test(frame))
        if isinstance(held, bool):
            return then(frame) if held else otherwise(frame)
        return _spent(frame, FUNCTIONS["where"](held, then(frame), otherwise(frame)))

    return _done(run)


def _items(node: tree.Items) -> Step:
    items = [_step(item) for item in node.items]
    return lambda frame: _spent(frame, [plain(item(frame), "what is in a list") for item in items])


def _listed(value: Value) -> list[Any] | Array:
    if isinstance(value, (int, float)):
        raise ValueError("the expression takes an item out of one number; that needs a list")  # noqa: TRY004 - wrong input, whatever its type
    return value


def _index(node: tree.Index) -> Step:
    of, at = _waiting(node.of), _step(node.at)

    def run(frame: Frame) -> Value:
        items, place = _listed(of(frame)), whole(at(frame), "the place in a list")
        if not -len(items) <= place < len(items):
            raise ValueError(f"the expression takes item {place} of a list of {len(items)}")
        found = items[place]
        return cast("Value", found.item() if isinstance(found, np.generic) else found)

    return _done(run)


def _part(node: tree.Part) -> Step:
    of = _waiting(node.of)
    ends = [None if end is None else _step(end) for end in (node.first, node.last, node.step)]

    def run(frame: Frame) -> Value:
        items = _listed(of(frame))
        first, last, step = [None if end is None else whole(end(frame), "the end of a slice") for end in ends]
        if step == 0:
            raise ValueError("the step of a slice must not be 0")
        return _spent(frame, items[first:last:step])

    return _done(run)


def _call(node: tree.Call) -> Step:
    function = FUNCTIONS[node.function]
    arguments = [_waiting(argument) for argument in node.arguments]
    keywords = {name: _waiting(value) for name, value in node.keywords}

    def run(frame: Frame) -> Value:
        given = [argument(frame) for argument in arguments]
        named = {name: value(frame) for name, value in keywords.items()}
        frame.budget.spend(_PER_CALL + sum(_size(value) for value in given))
        try:
            return _spent(frame, function(*given, **named))
        except (OverflowError, TooLarge):
            raise ValueError(f"{node.function} takes or makes a number too large for a float") from None

    return _done(run)


def _size(value: Value) -> int:
    if isinstance(value, list):
        return len(value)
    return value.size // 4 if isinstance(value, np.ndarray) else 0


def _comprehension(node: tree.Comprehension) -> Step:
    item = _step(node.item)
    loops = [(loop.name, _waiting(loop.over), [_step(test) for test in loop.tests]) for loop in node.loops]
    price = _count(node)

    def turns(frame: Frame, at: int) -> Iterator[None]:
        """Each turn of the loops from this one inwards, with the names set."""
        if at == len(loops):
            yield
            return
        name, over, tests = loops[at]
        held = frame.held
        items = _listed(over(frame))
        waiting = frame.held - held
        for value in _values(items):
            frame.budget.spend(price)
            frame.names[name] = value
            if all(_one_truth(test(frame)) for test in tests):
                yield from turns(frame, at + 1)
        # Not as it was: what the loops made meanwhile is still needed.
        frame.held -= waiting

    def run(frame: Frame) -> Value:
        # A frame of its own: what a loop calls its variable is nobody's outside.
        inner = Frame(dict(frame.names), frame.budget, frame.held)
        made: list[Any] = []
        for _ in turns(inner, 0):
            value = plain(item(inner), "what is in a list")
            made.append(value)
            checked_size(len(made))
            inner.hold_number(value)
        return made

    return run


def _one_truth(value: Value) -> bool:
    held = truth(value)
    if not isinstance(held, bool):
        raise ValueError("the expression tests an array in a loop; write all(…) or any(…) of it")  # noqa: TRY004 - wrong input, whatever its type
    return held


def _values(items: list[Any] | Array) -> list[Any]:
    return items if isinstance(items, list) else items.tolist()


def _count(node: Any) -> int:
    """How many nodes are in a part of the tree: what one turn of a loop costs."""
    if isinstance(node, tuple):
        return sum(_count(part) for part in cast("tuple[Any, ...]", node))
    if not hasattr(node, "__dataclass_fields__"):
        return 0
    return 1 + sum(_count(getattr(node, name)) for name in node.__dataclass_fields__)


_STEPS: dict[type, Callable[[Any], Step]] = {
    tree.Number: _number,
    tree.Constant: _constant,
    tree.Name: _name,
    tree.Unary: _unary,
    tree.Binary: _binary,
    tree.Compare: _compare,
    tree.Logic: _logic,
    tree.Choice: _choice,
    tree.Items: _items,
    tree.Index: _index,
    tree.Part: _part,
    tree.Call: _call,
    tree.Comprehension: _comprehension,
}
