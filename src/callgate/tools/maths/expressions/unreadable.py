"""What is said of a text that Python's grammar does not take: the first thing wrong in it, where, and what to write.

Python tells other places in each of its versions, and its reasons are those of programs; so this looks by itself.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Collection

from callgate.tools.maths.expressions.mistakes import per_cent, shown
from callgate.tools.maths.expressions.names import ARITIES, IMAGINARY, NO_IMAGINARY, function_called

Token = re.Match[str]

_TOKEN = re.compile(
    r"(?P<number>0[xX][0-9a-fA-F_]+|0[bBoO][0-7_]+|(?:[0-9][0-9_]*\.?[0-9_]*|\.[0-9][0-9_]*)(?:[eE][+-]?[0-9]+)?)"
    r"|(?P<word>not +in\b|[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<opening>[(\[])"
    r"|(?P<closing>[)\]])"
    r"|(?P<sign>\*\*|//|[<>=!:]=|=[<>]|<>|[-+*/%^<>=!:,.])"
)
_JOINING = frozenset({"if", "else", "and", "or", "in", "is", "not", "not in", "for"})
_VALUES = frozenset({"True", "False", "None"})
_ELSEWHERE = {"=": "==", "=<": "<=", "=>": ">=", "<>": "!="}
"""How other languages compare."""
_DERIVATIVE = re.compile(r" *d[A-Za-z]\w* */ *d[A-Za-z]\w* *", re.ASCII)
"""What stands on the left of a differential equation."""
_SHORT_NAME = 2
"""Letters of what is a variable rather than a word of English."""


def example(variables: Collection[str] | None) -> str:
    """How an expression is written, with a variable that it may have."""
    names = ["x"] if variables is None else sorted(variables)
    # Beside x0, x is the list of all of them, and nothing is computed with a list.
    name = next((one for one in names if f"{one}0" not in names), "3")
    return f"write it as in 2*{name} + sin(pi/4)"


def why_unreadable(text: str) -> str | None:
    """What is wrong with a text, as the end of a sentence about it; None where it looks right."""
    return _Walk(text).fault()


class _Walk:
    """One walk over the words and signs of a text, up to the first that cannot stand where it does."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = list(_TOKEN.finditer(text))
        self._opened: list[Token] = []

    def fault(self) -> str | None:
        for at, token in enumerate(self._tokens):
            check = self._after_value if at and _is_value(self._tokens[at - 1]) else self._for_value
            fault = check(at, token) or self._bracket(token)
            if fault is not None:
                return fault
        return self._end()

    def _after_value(self, at: int, token: Token) -> str | None:
        before = self._tokens[at - 1]
        if token[0] == "!":
            is_name = not before["closing"]
            where, number = (before, before[0]) if is_name else (token, "…")
            return f"has a !, at '{self._from(where)}', which is not in the language; write factorial({number})"
        is_named = bool(self._opened and before["word"])
        derivative = _DERIVATIVE.fullmatch(self._text, 0, token.start()) if token[0] == "=" else None
        if derivative is not None:
            side = shown(self._text[token.end() :].strip())
            return f"has an equation, of {derivative[0].strip()}; write only its right-hand side, as in {side or '-y0'}"
        if token[0] in _ELSEWHERE and not (token[0] == "=" and is_named):
            return f"has {token[0]}, at '{self._from(token)}'; write {_ELSEWHERE[token[0]]} to compare"
        is_called = token["opening"] and (before["word"] or token[0] == "[")
        if is_called or token["sign"] or token["closing"] or token[0] in _JOINING:
            return None
        return self._without_operator(at, token)

    def _without_operator(self, at: int, token: Token) -> str:
        before = self._tokens[at - 1]
        after = self._tokens[at + 1] if at + 1 < len(self._tokens) else None
        what = f"has no operator between '{before[0]}' and '{self._from(token)}'"
        if before["word"] and function_called(before[0]):
            others = ", …" * (_fewest(before[0]) - 1)
            return f"{what}; write {before[0]}({token[0]}{others})"
        if token["word"] and _fewest(token[0]) > 1:
            return f"{what}; write {_of_two(before, token, after=after)}"
        if token[0] in ("x", "X") and before["number"] and after is not None and after["number"]:
            return f"{what}; write {before[0]}*{after[0]} for a product"
        is_near = before.end() == token.start() or len(token[0]) <= _SHORT_NAME or function_called(token[0])
        if before["number"] and token["word"] and is_near:
            unit = f", where {token[0]} is a variable: {NO_IMAGINARY}" if token[0] in IMAGINARY else ""
            return f"{what}; write {before[0]}*{token[0]} for a product{unit}"
        return f"{what}; write one there, * for a product"

    def _for_value(self, at: int, token: Token) -> str | None:
        """Where a number or a name has to begin."""
        before = self._tokens[at - 1] if at else None
        percent = self._percent(at, token)
        if percent is not None or before is None:
            return percent or (None if _begins_value(token) else self._nothing_before(token))
        if _begins_value(token):
            return None
        # Calls and lists may be empty, end with a comma, and (what is refused later) begin with a star.
        is_open = before["opening"] or before[0] in (",", ":")
        if is_open and (token["closing"] or (token[0] in ("*", "**") and before[0] in ("(", ","))):
            return None
        return (
            f"has nothing between {before[0]} and {token[0]}, at '{self._from(before)}'; write a number or a name there"
        )

    def _nothing_before(self, token: Token) -> str:
        if keyword.iskeyword(token[0]) and token[0] not in _JOINING:
            return f"uses {token[0]}, which is not in the language"
        return f"begins with {token[0]}; write a number or a name before it"

    def _percent(self, at: int, token: Token | None) -> str | None:
        """10% where no remainder of a division can be meant."""
        number, sign = self._tokens[max(at - 2, 0) : at] if at > 1 else (None, None)
        if number is None or sign is None or sign[0] != "%" or not re.fullmatch(r"[0-9]+(\.[0-9]+)?", number[0]):
            return None
        if token is not None and token[0] != "of" and _begins_value(token):
            return None
        of = ' and * for "of"' if token is not None and token[0] == "of" else ""
        return f"has a percentage, at '{self._from(number)}'; write {per_cent(number[0])} for {number[0]}%{of}"

    def _bracket(self, token: Token) -> str | None:
        if token["opening"]:
            self._opened.append(token)
        if not token["closing"]:
            return None
        if not self._opened:
            return f"has a {token[0]} that nothing opens, at '{self._from(token)}'"
        opened = self._opened.pop()
        if opened[0] + token[0] in ("()", "[]"):
            return None
        return f"closes {opened[0]} with {token[0]}, at '{self._from(opened)}'"

    def _end(self) -> str | None:
        last = self._tokens[-1] if self._tokens else None
        percent = self._percent(len(self._tokens), None)
        if percent is not None or last is None:
            return percent
        if self._opened:
            return f"has a {self._opened[-1][0]} that is never closed, at '{self._from(self._opened[-1])}'"
        if last["sign"] or last[0] in _JOINING:
            return f"ends after {last[0]}, where a number or a name has to follow"
        return None

    def _from(self, token: Token) -> str:
        return shown(self._text[token.start() :])


def _fewest(name: str) -> int:
    """The arguments that a function wants; 0 of what is none."""
    function = function_called(name)
    return ARITIES[function][0] if function else 0


def _of_two(before: Token, function: Token, *, after: Token | None) -> str:
    """7 mod 3, as it is written here."""
    first = "…" if before["closing"] else before[0]
    second = after[0] if after is not None and (after["number"] or after["word"]) else "…"
    called = f"{function[0]}({first}, {second})"
    return f"{called} or {first} % {second}" if function[0] == "mod" and "…" not in called else called


def _is_value(token: Token) -> bool:
    """Whether a value ends there, so that an operator has to follow."""
    return bool(token["number"] or token["closing"] or (token["word"] and token[0] not in _JOINING))


def _begins_value(token: Token) -> bool:
    if token["word"]:
        is_word = not keyword.iskeyword(token[0]) and token[0] != "not in"
        return is_word or token[0] in _VALUES or token[0] == "not"
    return bool(token["number"] or token["opening"] or token[0] in ("+", "-", ":"))
