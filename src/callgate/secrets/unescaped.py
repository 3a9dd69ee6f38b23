r"""Unescaped: a text as it is once its escapes are undone, and where each part of it stood. Knows no secret.

Writers of JSON and of pages differ in what they escape and how: `+` is itself, `\u002B`, `&#43;`, `&#x2B;` or
`&plus;`. No table has them all, so a text with escapes is read as well, as whoever it is for would.
"""

from __future__ import annotations

import html
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from operator import itemgetter
from typing import NamedTuple

_DEEPEST = 2
"""JSON is sent inside of JSON, and JSON in pages."""
_HEX = "[0-9A-Fa-f]"
_IN_JSON = re.compile(
    rf"\\(?:u(?:[Dd][89ABab]{_HEX}{{2}}\\u[Dd][C-Fc-f]{_HEX}{{2}}|{_HEX}{{4}})|x{_HEX}{{2}}|[\"'\\/bfnrt])"
)
_IN_PAGES = re.compile(rf"&(?:#[0-9]{{1,7}}|#[Xx]{_HEX}{{1,6}}|[A-Za-z][A-Za-z0-9]{{1,31}});")
_REMEMBERED = 1024
"""Escapes: a text has few, many times."""
_CONTROLS = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
# Text in JSON text has its backslashes twice. Quotes, newlines and backslashes themselves everybody escapes alike.
_UNUSUAL_IN_JSON = re.compile(rf"\\\\(?:u{_HEX}{{4}}|x{_HEX}{{2}}|['/])")
_START = itemgetter(0)


class Way(NamedTuple):
    """One way to escape."""

    sign: str
    pattern: re.Pattern[str]
    undo: Callable[[re.Match[str]], str]


@dataclass(kw_only=True)
class Unescaped:
    """A text with one layer of escapes undone."""

    text: str
    of: tuple[Unescaped, Way] | None = None
    """What it was made of, and in which way; None for the text that was given."""

    def place(self, start: int, end: int) -> tuple[int, int]:
        """Where this part of it stood in the text that was given: of escapes always the whole."""
        if self.of is None:
            return start, end
        return self.of[0].place(self._old(start)[0], self._old(end - 1)[1])

    def _old(self, at: int) -> tuple[int, int]:
        number = bisect_right(self._undone, at, key=_START) - 1
        if number < 0:
            return at, at + 1
        _, end, *old = self._undone[number]
        if at < end:
            return old[0], old[1]
        behind = old[1] + at - end
        return behind, behind + 1

    @cached_property
    def _undone(self) -> list[tuple[int, int, int, int]]:
        """Where each escape is now, and where it was. Worked out once something was found, which is seldom."""
        found: list[tuple[int, int, int, int]] = []
        longer = 0
        for match, size in self._escapes():
            start = match.start() - longer
            found.append((start, start + size, *match.span()))
            longer += len(match[0]) - size
        return found

    def _escapes(self) -> Iterator[tuple[re.Match[str], int]]:
        """Every escape, and how many letters it stands for."""
        if self.of is not None:
            before, way = self.of
            yield from ((match, len(way.undo(match))) for match in way.pattern.finditer(before.text))


def may_have_escapes(json_text: str) -> bool:
    """Whether a text in this JSON text has escapes that some writers make and others do not. Never a wrong no."""
    if "&" in json_text and _IN_PAGES.search(json_text) is not None:
        return True
    return "\\\\" in json_text and _UNUSUAL_IN_JSON.search(json_text) is not None


def unescaped(text: str) -> Iterator[Unescaped]:
    """Every other way to read the text, each once."""
    seen, layer = {text}, [Unescaped(text=text)]
    for _ in range(_DEEPEST):
        layer = [read for before in layer for read in _undone(before) if _is_new(read.text, seen)]
        yield from layer


def _is_new(text: str, seen: set[str]) -> bool:
    new = text not in seen
    seen.add(text)
    return new


def _undone(before: Unescaped) -> Iterator[Unescaped]:
    for way in _WAYS:
        if way.sign in before.text:
            yield Unescaped(text=way.pattern.sub(way.undo, before.text), of=(before, way))


def _from_json(match: re.Match[str]) -> str:
    return _undo_in_json(match[0])


def _from_page(match: re.Match[str]) -> str:
    return _undo_in_page(match[0])


@lru_cache(_REMEMBERED)
def _undo_in_json(escape: str) -> str:
    kind = escape[1]
    if kind in "ux":
        codes = bytes.fromhex(escape.replace("\\u", "").replace("\\x", "00"))
        return codes.decode("utf-16-be", "surrogatepass")
    return _CONTROLS.get(kind, kind)


@lru_cache(_REMEMBERED)
def _undo_in_page(escape: str) -> str:
    return html.unescape(escape)


_WAYS = (Way("\\", _IN_JSON, _from_json), Way("&", _IN_PAGES, _from_page))
