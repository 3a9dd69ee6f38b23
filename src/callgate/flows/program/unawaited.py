"""Unawaited: the text of a program that awaits each call where it makes it, with the awaiting taken out.

An awaited call takes two visits to the interpreter, a plain one takes one. Where every call is awaited at once, and
nothing else of the program can run meanwhile, both come to the same. All that stays keeps its line and its column.
"""

from __future__ import annotations

import io
import re
import tokenize
import unicodedata
from collections.abc import Iterator
from itertools import pairwise
from token import DEDENT, ERRORTOKEN, INDENT, NAME, NEWLINE, OP, STRING, tok_name
from tokenize import TokenInfo

_AWAIT = "await"
_BLANK = "     "
_SAME = "0 or "
"""Stands first in a line, where blanks would be an indent, and changes no value."""
_OTHER_WAYS = frozenset({"asyncio", "eval", "exec", "compile", "globals", "locals", "vars", "getattr", "builtins"})
"""With these calls could be made at once, or where nobody sees them."""
_UNSEEN = frozenset({tokenize.COMMENT, tokenize.NL})
_LINE_BEGINS = frozenset({NEWLINE, INDENT, DEDENT})
_OPEN, _CLOSED = frozenset("([{"), frozenset(")]}")
_GO_ON = frozenset(".[(")
_FORMATTED = re.compile(r"[a-z]*[ft]", re.IGNORECASE)
_PARTED = {"FSTRING_START": 1, "TSTRING_START": 1, "FSTRING_END": -1, "TSTRING_END": -1}
"""Newer Pythons take formatted texts apart."""
_Place = tuple[int, int, str]


class _Otherwise(Exception):
    """A function is used in another way than to be called and awaited at once."""


def unawaited(source: str, names: frozenset[str]) -> str | None:
    """The text with plain calls of these functions; None where that could be another program."""
    if _AWAIT not in source or "\r" in source or "\f" in source:
        return None
    try:
        tokens = [each for each in tokenize.generate_tokens(io.StringIO(source).readline) if each.type not in _UNSEEN]
        places = list(_Reader(tokens, names).places())
    except (tokenize.TokenError, SyntaxError, _Otherwise):
        return None
    lines = source.split("\n")
    for row, column, instead in places:
        line = lines[row - 1]
        lines[row - 1] = line[:column] + instead + line[column + len(_AWAIT) :]
    return "\n".join(lines) if places else None


class _Reader:
    """Looks at every token once."""

    def __init__(self, tokens: list[TokenInfo], names: frozenset[str]) -> None:
        self._tokens = tokens
        self._names = names
        self._inside: list[tuple[str, bool]] = []
        """The brackets that are open, each with whether it is that of a call that was awaited."""
        self._formatted = 0

    def places(self) -> Iterator[_Place]:
        """Where awaiting is to be taken out, and what stands there instead.

        Raises:
            _Otherwise: A function is used in another way.
        """
        begins = True
        for at, (token, following) in enumerate(pairwise(self._tokens)):
            if token.type == NAME:
                self._look_at_name(at, token)
            elif token.type == OP:
                self._look_at_bracket(at, token)
            elif token.type == STRING:
                self._look_at_text(token.string)
            elif token.type == ERRORTOKEN:
                raise _Otherwise
            self._formatted += _PARTED.get(tok_name[token.type], 0)
            if token.string == _AWAIT and following.string in self._names:
                yield (*token.start, _SAME if begins else _BLANK)
            begins = token.type in _LINE_BEGINS

    def _look_at_name(self, at: int, token: TokenInfo) -> None:
        _check_spelling(token.string)
        generated = token.string == "for" and bool(self._inside) and self._inside[-1][0] == "("
        if token.string in _OTHER_WAYS or generated:
            raise _Otherwise
        # What stands inside a formatted text may be told as it is written.
        if token.string in self._names and (self._formatted or not self._is_awaited_call(at)):
            raise _Otherwise

    def _is_awaited_call(self, at: int) -> bool:
        if at == 0:
            return False
        before, token, after = self._tokens[at - 1 : at + 2]
        return before.string == _AWAIT and before.start[0] == token.start[0] and after.string == "("

    def _look_at_bracket(self, at: int, token: TokenInfo) -> None:
        if token.string in _OPEN:
            self._inside.append((token.string, self._tokens[at - 1].string in self._names))
        elif token.string in _CLOSED:
            _, called = self._inside.pop() if self._inside else ("", False)
            if called and self._tokens[at + 1].string in _GO_ON:
                raise _Otherwise

    def _look_at_text(self, text: str) -> None:
        if not _FORMATTED.match(text):
            return
        _check_spelling(text)
        if not (self._names | _OTHER_WAYS).isdisjoint(re.findall(r"\w+", text)):
            raise _Otherwise


def _check_spelling(text: str) -> None:
    """Names are compared as they are written, and the interpreter takes wide letters, and others, for plain ones."""
    if not text.isascii() and not unicodedata.is_normalized("NFKC", text):
        raise _Otherwise
