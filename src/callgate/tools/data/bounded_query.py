"""JMESPath with a budget. A query can copy and multiply what it is given; each value it makes is weighed, and paid for.

A value weighs as much as all that is in it, however often the same part occurs: `[@, @]` doubles the weight though it
copies nothing, because whoever writes the answer down, compares it or makes text of it pays for both. Texts are
measured before they are made: those of `join` and `to_string` may be larger by far than what they are made of. Of
everything else, no step makes more than it was given, and what it was given has been paid for.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any, cast

from jmespath.exceptions import JMESPathTypeError
from jmespath.functions import Functions, signature
from jmespath.parser import Parser
from jmespath.visitor import Options, TreeInterpreter

BUDGET = 2_000_000
"""What all values of one query may weigh together: about a second of work."""
HEAVIEST = 500_000
"""What the answer may weigh: a few megabytes."""
_LETTERS = 8
"""So many characters weigh as much as one value."""
_BITS = 26
"""As many digits, in a whole number."""


class TooMuch(ValueError):
    """The query does more than it may."""


def search(query: str, data: Any) -> Any:
    """Answer a query.

    Raises:
        TooMuch: It makes too many or too large values.
        ValueError: What it finds is not JSON.
        JMESPathError: It is no query, or does not fit the data.
        RecursionError: It is nested too deeply, or the data is.
    """
    interpreter = _Bounded()
    try:
        found = interpreter.visit(Parser().parse(query).parsed, data)
    except JMESPathTypeError as error:
        # The library shows the whole value, which may be as large as all the data.
        wanted = " or ".join(error.expected_types)
        raise ValueError(f"query gives {error.function_name}() {error.actual_type}, and it takes {wanted}") from None
    if interpreter.weigh(found) > HEAVIEST:
        raise TooMuch("query finds too much; narrow it, by a filter or a slice")
    _need_json(found)
    return found


def _need_json(found: Any) -> None:
    """Functions and literals of the library make infinity, what is no number, expressions and halves of letters."""
    try:
        json.dumps(found, allow_nan=False, ensure_ascii=False).encode()
    except (TypeError, ValueError):
        raise ValueError(
            "query finds what JSON has no form for: a number that is not finite or too long, an expression (&) or half"
            " a letter; leave it out"
        ) from None


class _Bounded(TreeInterpreter):
    """The library's own interpreter, every step of which goes through `visit`."""

    def __init__(self) -> None:
        super().__init__(Options(custom_functions=_Functions(self.need)))
        self._left = BUDGET
        self._weights: dict[int, int] = {}
        self._kept: list[Any] = []
        """So that no two values that were weighed ever have the same identity."""

    def visit(self, node: Any, *args: Any, **kwargs: Any) -> Any:
        found: Any = super().visit(node, *args, **kwargs)
        weight = self.weigh(found)
        self.need(weight)
        self._left -= weight
        return found

    def need(self, weight: int) -> None:
        """Whether something may be made that weighs as much.

        Raises:
            TooMuch: It may not.
        """
        if weight > self._left:
            raise TooMuch("query does too much work for this data; narrow it first, by a filter or a slice")

    def weigh(self, value: Any) -> int:
        """How much a value weighs, with all that is in it."""
        if isinstance(value, str):
            return 1 + len(value) // _LETTERS
        if isinstance(value, int):
            return 1 + value.bit_length() // _BITS
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


class _Functions(Functions):
    """The library's own functions, but for those that make a text of many parts."""

    def __init__(self, need: Callable[[int], None]) -> None:
        self._need = need

    @signature({"types": ["string"]}, {"types": ["array-string"]})
    def _func_join(self, separator: str, array: list[str]) -> str:
        self._need((len(separator) * len(array) + sum(map(len, array))) // _LETTERS)
        return separator.join(array)

    @signature({"types": []})
    def _func_to_string(self, arg: Any) -> str:
        if isinstance(arg, str):
            return arg
        pieces: list[str] = []
        letters = 0
        for piece in json.JSONEncoder(separators=(",", ":")).iterencode(arg):
            letters += len(piece)
            self._need(letters // _LETTERS)
            pieces.append(piece)
        return "".join(pieces)
