"""JMESPath with a budget. A query can copy and multiply what it is given; each value it makes is weighed, and paid for.

The library differs from the specification in places, since to Python `true` is the number 1; here they agree.

A value weighs as much as all that is in it, however often the same part occurs: `[@, @]` doubles the weight though it
copies nothing, because whoever writes the answer down, compares it or makes text of it pays for both. Texts are
measured before they are made: those of `join` and `to_string` may be larger by far than what they are made of. Of
everything else, no step makes more than it was given, and what it was given has been paid for.
"""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable, Iterable
from typing import Any, ClassVar, cast

from jmespath.exceptions import JMESPathError, JMESPathTypeError
from jmespath.functions import Functions, signature
from jmespath.parser import Parser
from jmespath.visitor import Options, TreeInterpreter

from callgate.model.visible import brief
from callgate.tools.data.functions_as_names import FunctionsAsNames
from callgate.tools.data.texts_as_names import QUOTED, TextsAsNames, in_quotes
from callgate.tools.data.unreadable_query import instead_of, why_unreadable

BUDGET = 2_000_000
"""What all values of one query may weigh together: about a second of work."""
HEAVIEST = 500_000
"""What the answer may weigh: a few megabytes."""
_LETTERS = 8
"""So many characters weigh as much as one value."""
_BITS = 26
"""As many digits, in a whole number."""
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?P<inexact>\.[0-9]+)?(?P<power>[eE][+-]?[0-9]+)?")
"""As JSON writes one, and JMESPath after it; Python reads more than that."""
_MOST_DIGITS = 4300
_TAKE_EXPRESSIONS = frozenset({"map", "sort_by", "min_by", "max_by"})


class TooMuch(ValueError):
    """The query does more than it may."""


def search(query: str, data: Any) -> Any:
    """Answer a query.

    Raises:
        TooMuch: It makes too many or too large values.
        ValueError: It is no query, compares with a name that is none, or what it finds is not JSON.
        JMESPathError: It does not fit the data.
        RecursionError: It is nested too deeply, or the data is.
    """
    tree = _parsed(query)
    texts = TextsAsNames(tree)
    interpreter = _Bounded(texts, FunctionsAsNames(data, _Functions.FUNCTION_TABLE))
    try:
        found = interpreter.visit(tree, data)
    except JMESPathTypeError as error:
        # The library shows the whole value, which may be as large as all the data.
        wanted = " or ".join(error.expected_types)
        hint = in_quotes(tree, error.function_name) if error.actual_type == "null" else ""
        raise ValueError(
            f"query gives {error.function_name}() {error.actual_type}, and it takes {wanted}{hint}"
        ) from None
    texts.need_names()
    if interpreter.weigh(found) > HEAVIEST:
        raise TooMuch("query finds too much; narrow it, by a filter or a slice")
    if not _is_json(found):
        raise ValueError(
            "query finds what JSON has no form for: a number that is not finite or too long, or half a letter;"
            " leave it out"
        )
    return found


def _is_json(found: Any) -> bool:
    """Whether it has a form; functions and literals of the library make infinity, what is no number, half letters."""
    try:
        json.dumps(found, allow_nan=False, ensure_ascii=False).encode()
    except ValueError:
        return False
    return True


class _Parser(Parser):
    """One that keeps nothing: a literal of a query that is kept is what its next answer consists of, too."""

    _MAX_SIZE = 0
    _CACHE: ClassVar[dict[str, Any]] = {}

    def _token_nud_quoted_identifier(self, token: Any) -> Any:
        field: dict[str, Any] = cast("Any", super())._token_nud_quoted_identifier(token)  # noqa: SLF001 - the library's only hook
        return {**field, QUOTED: True}


def _parsed(query: str) -> Any:
    try:
        tree: Any = _Parser().parse(query).parsed
    except JMESPathError as error:
        raise ValueError(f"query {why_unreadable(query, error)}") from None
    left: list[tuple[Any, str]] = [(tree, "")]
    while left:
        node, inside = left.pop()
        _need_meaning(node, inside=inside)
        name = node["value"] if node["type"] == "function_expression" else ""
        left += [(child, name) for child in node["children"] if isinstance(child, dict)]
    return tree


def _need_meaning(node: Any, *, inside: str) -> None:
    """Refuse what the library reads and the specification does not."""
    why = None
    if node["type"] == "literal" and not _is_json(node["value"]):
        why = "a literal in it is no JSON, or a number that is too large"
    elif node["type"] == "slice" and node["children"][2] == 0:
        why = "the step of a slice is 0"
    elif node["type"] == "expref" and inside not in _TAKE_EXPRESSIONS:
        why = f"only {', '.join(sorted(_TAKE_EXPRESSIONS))} take an expression (&)"
    elif node["type"] == "function_expression" and node["value"] not in _Functions.FUNCTION_TABLE:
        why = f"there is no function {brief(node['value'])}; {instead_of(node['value'], _Functions.FUNCTION_TABLE)}"
    if why is not None:
        raise ValueError(f"query cannot be answered: {why}")


def _equal(one: Any, other: Any) -> bool:
    # Python finds all that is equal, and finds `true` equal to 1 besides.
    return one == other and _alike(one, other)


def _alike(one: Any, other: Any) -> bool:
    """Whether two values that Python calls equal have their truth values at the same places."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, list):
        return all(map(_alike, cast("list[Any]", one), other))
    if isinstance(one, dict):
        return all(_alike(value, other[name]) for name, value in cast("dict[str, Any]", one).items())
    return True


def _ordered(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool | None]:
    """Numbers among each other, and texts; between one and the other is no order, which is null and no error."""
    return lambda one, other: compare(one, other) if isinstance(one, str) is isinstance(other, str) else None


class _Bounded(TreeInterpreter):
    """The library's own interpreter, every step of which goes through `visit`."""

    COMPARATOR_FUNC: ClassVar[dict[str, Callable[[Any, Any], Any]]] = {
        "eq": _equal,
        "ne": lambda one, other: not _equal(one, other),
        "lt": _ordered(operator.lt),
        "gt": _ordered(operator.gt),
        "lte": _ordered(operator.le),
        "gte": _ordered(operator.ge),
    }

    def __init__(self, texts: TextsAsNames, functions: FunctionsAsNames) -> None:
        super().__init__(Options(custom_functions=_Functions(self.need)))
        self._texts = texts
        self._behind_pipes = functions
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

    def visit_field(self, node: Any, value: Any) -> Any:
        self._texts.taken(node, value)
        return super().visit_field(node, value)

    def visit_pipe(self, node: Any, value: Any) -> Any:
        """As the library's, which tells nobody what is piped."""
        of, then = node["children"]
        found: Any = self.visit(of, value)
        self._behind_pipes.asked(then, found)
        return self.visit(then, found)

    def visit_filter_projection(self, node: Any, value: Any) -> Any:
        """As the library's, which tells nobody what is filtered."""
        of, then, condition = node["children"]
        elements: Any = self.visit(of, value)
        if not isinstance(elements, list):
            return None
        self._texts.filtered(cast("list[Any]", elements))
        is_true = cast("Any", self)._is_true  # noqa: SLF001 - the library's own judge, inherited
        kept = (one for one in cast("list[Any]", elements) if is_true(self.visit(condition, one)))
        return [found for one in kept if (found := self.visit(then, one)) is not None]

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
    """The library's own functions, but for those that make a text of many parts, or are not as specified."""

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

    @signature({"types": []})
    def _func_to_number(self, arg: Any) -> Any:
        if not isinstance(arg, str):
            return arg if isinstance(arg, (int, float)) and not isinstance(arg, bool) else None
        written = _NUMBER.fullmatch(arg)
        if written is None:
            return None
        # One that has no fraction keeps every digit; Python reads no more than 4300 of them.
        return float(arg) if written["inexact"] or written["power"] or len(arg) > _MOST_DIGITS else int(arg)

    @signature({"types": ["array", "string"]}, {"types": []})
    def _func_contains(self, subject: Any, search: Any) -> bool:
        if isinstance(subject, str):
            return isinstance(search, str) and search in subject
        return any(_equal(one, search) for one in subject)

    @signature({"types": ["object"], "variadic": True})
    def _func_merge(self, *arguments: Any) -> dict[str, Any]:
        merged: dict[str, Any] = {}
        for argument in arguments:
            # The library looks at the first only, and makes an object of a list of pairs.
            if not isinstance(argument, dict):
                raise ValueError("query gives merge() what is no object")  # noqa: TRY004 - an error of the input
            merged.update(cast("dict[str, Any]", argument))
        return merged
