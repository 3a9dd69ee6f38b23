"""What is said of a query that JMESPath does not take: what is wrong, where, and what to write.

The library speaks of its tokens. What people write who come from other languages is told by what stands at the place.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from types import MappingProxyType

from jmespath.exceptions import JMESPathError, LexerError, ParseError

from callgate.model.nearest import nearest
from callgate.model.visible import brief

_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?")
# Looked for where a word begins only: from within one, a long word would be read once for each of its letters.
_HYPHENATED = re.compile(r"(?<!\w)[A-Za-z_]\w*(?:-\w+)+", re.ASCII)
_POSITION = re.compile(r"(?<!\w)([A-Za-z_]\w*)\.$", re.ASCII)
_SHOWN = 24
"""Characters of a query that are repeated, to say where in it."""
_MEANT = MappingProxyType(
    {
        "len": "length",
        "count": "length",
        "size": "length",
        "average": "avg",
        "mean": "avg",
        "includes": "contains",
        "startswith": "starts_with",
        "endswith": "ends_with",
        "str": "to_string",
        "string": "to_string",
        "int": "to_number",
        "float": "to_number",
        "number": "to_number",
        "round": "floor or ceil",
        "sorted": "sort or sort_by",
        "order_by": "sort_by",
        "typeof": "type",
    }
)
"""Functions by their names in other languages, where likeness would not lead there."""


def why_unreadable(query: str, error: JMESPathError) -> str:
    """What is wrong with a query that was not parsed, as the end of a sentence about it."""
    at = getattr(error, "lex_position", None)
    if not isinstance(error, ParseError) or not isinstance(at, int):
        return f"cannot be answered: {error}"
    if at >= len(query):
        return "ends too early: something in it is not closed or not complete"
    return _hyphen(query, at) or _number(query, at) or _sign(query, at) or _other(query, at, error=error)


def instead_of(name: str, known: Collection[str]) -> str:
    """What may be meant by a function that is not there."""
    meant = _MEANT.get(name.lower()) or nearest(name, known)
    return f"did you mean {meant}?" if meant else f"there are {', '.join(sorted(known))}"


def _hyphen(query: str, at: int) -> str | None:
    for name in _HYPHENATED.finditer(query):
        if name.start() <= at < name.end():
            shown = brief(name[0])
            return f'has the name {shown}, whose - is not read as a part of it; write "{shown}", in double quotes'
    return None


def _number(query: str, at: int) -> str | None:
    number = _NUMBER.match(query, at)
    if number is None:
        return None
    position = _POSITION.search(query, 0, at)
    if position is not None:
        return f"has a position, at {_from(query, position.start())}, behind a dot; write {position[1]}[{number[0]}]"
    return f"has a number, at {_from(query, at)}; numbers are written in backquotes: `{number[0]}`"


def _sign(query: str, at: int) -> str | None:
    if query[at] == "$":
        rest = query[at:].lstrip("$").lstrip(".")
        bare = f"; write {brief(rest)}" if at == 0 and rest and len(rest) <= _SHOWN else ""
        return f"has a $, which is not there: a path begins with a name, or with @ for the value itself{bare}"
    if query[at] == "=":
        return f"has a single =, at {_from(query, at)}; write == to compare"
    return None


def _other(query: str, at: int, *, error: ParseError) -> str:
    if isinstance(error, LexerError):
        if query[at] in "'\"`" and "Unclosed" in error.message:
            return f"has a {query[at]} that nothing closes, at {_from(query, at)}"
        return f"has {brief(query[at])}, at {_from(query, at)}, which is not in the language or not complete"
    return f"cannot be read from {_from(query, at)} on, in column {at + 1}: that cannot stand there"


def _from(query: str, at: int) -> str:
    rest = query[at:]
    return f"'{brief(rest if len(rest) <= _SHOWN else f'{rest[:_SHOWN]}…')}'"
