"""JMESPath with a budget. A query can copy and multiply what it is given; each value it makes is weighed, and paid for.

A value weighs as much as all that is in it, however often the same part occurs: `[@, @]` doubles the weight though it
copies nothing, because whoever writes the answer down, compares it or makes text of it pays for both.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

from jmespath.parser import Parser
from jmespath.visitor import TreeInterpreter

BUDGET = 2_000_000
"""What all values of one query may weigh together: about a second of work."""
HEAVIEST = 500_000
"""What the answer may weigh: a few megabytes."""
_LETTERS = 8
"""So many characters weigh as much as one value."""


class TooMuch(ValueError):
    """The query does more than it may."""


def search(query: str, data: Any) -> Any:
    """Answer a query.

    Raises:
        TooMuch: It makes too many or too large values.
        JMESPathError: It is no query, or does not fit the data.
        RecursionError: It is nested too deeply, or the data is.
    """
    interpreter = _Bounded()
    found = interpreter.visit(Parser().parse(query).parsed, data)
    if interpreter.weigh(found) > HEAVIEST:
        raise TooMuch("query finds too much; narrow it, by a filter or a slice")
    return found


class _Bounded(TreeInterpreter):
    """The library's own interpreter, every step of which goes through `visit`."""

    def __init__(self) -> None:
        super().__init__()
        self._left = BUDGET
        self._weights: dict[int, int] = {}
        self._kept: list[Any] = []
        """So that no two values that were weighed ever have the same identity."""

    def visit(self, node: Any, *args: Any, **kwargs: Any) -> Any:
        found: Any = super().visit(node, *args, **kwargs)
        self._left -= self.weigh(found)
        if self._left < 0:
            raise TooMuch("query does too much work for this data; narrow it first, by a filter or a slice")
        return found

    def weigh(self, value: Any) -> int:
        """How much a value weighs, with all that is in it."""
        if isinstance(value, str):
            return 1 + len(value) // _LETTERS
        if not isinstance(value, (list, dict)):
            return 1
        known = self._weights.get(id(cast("object", value)))
        if known is not None:
            return known
        # The names in objects count as well: a query may give a long one to each of many.
        names: Iterable[Any] = cast("dict[str, Any]", value) if isinstance(value, dict) else ()
        parts = cast("dict[str, Any]", value).values() if isinstance(value, dict) else cast("list[Any]", value)
        weight = 1 + sum(map(self.weigh, parts)) + sum(len(name) // _LETTERS for name in names)
        self._weights[id(cast("object", value))] = weight
        self._kept.append(value)
        return weight
