"""Items: which formulas are of an array of numbers, item by item, what they are of each number alone."""

from __future__ import annotations

from callgate.tools.maths.expressions import tree
from callgate.tools.maths.expressions.functions import ITEM_BY_ITEM

_OF_THE_FIRST = frozenset({"clip", "round"})
"""What else these take is one number."""


def is_item_by_item(node: tree.Node) -> bool:
    """Whether it is known to be; whatever makes or takes a list may mix the items."""
    match node:
        case tree.Number() | tree.Constant() | tree.Name():
            return True
        case tree.Unary(operand=only):
            return is_item_by_item(only)
        case tree.Binary(left=one, right=other):
            return is_item_by_item(one) and is_item_by_item(other)
        case tree.Compare(first=first, rest=rest):
            return all(map(is_item_by_item, (first, *(part for _, part in rest))))
        case tree.Logic(parts=parts):
            return all(map(is_item_by_item, parts))
        case tree.Choice(test=test, then=then, otherwise=otherwise):
            return all(map(is_item_by_item, (test, then, otherwise)))
        case tree.Call(function=function, arguments=(first, *more), keywords=()) if function in ITEM_BY_ITEM:
            plain = function not in _OF_THE_FIRST or all(isinstance(each, tree.Number) for each in more)
            return plain and all(map(is_item_by_item, (first, *more)))
        case _:
            return False
