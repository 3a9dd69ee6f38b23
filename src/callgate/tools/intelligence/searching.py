"""Searching: ranks what the index has for some words: symbols before text, exact names before others."""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from callgate.model.visible import cut
from callgate.tools.intelligence.finding import is_of_tests
from callgate.tools.intelligence.projects import Project
from callgate.tools.intelligence.words import names_in, parts_of

_MOST_WORDS = 12
_LOOKED_AT = 60
"""Candidates of each kind."""
_SHOWN = 6
"""Lines of a snippet."""
_WIDEST = 200
_SAYS_NOTHING = frozenset(
    re.findall(
        r"\w+",
        "a an and are as at be by can code define defined defines definition do does find file files for from function "
        "functions get has have how i if in into is it its me method of on or show that the their there this to used "
        "uses using was we what when where which who why with",
    )
)
_LAST = "\U0010ffff"

_SYMBOLS = """
SELECT f.path, f.language, s.line, s.last, s.kind, s.name, s.qualified, s.signature, {score} AS score
FROM symbols s JOIN files f ON f.id = s.file {join}
WHERE {where} {languages}
ORDER BY score LIMIT ?
"""
_TEXT = """
SELECT f.path, f.language, c.line, c.last, 'text', '', '', '', bm25(chunk_words) AS score
FROM chunk_words JOIN chunks c ON c.id = chunk_words.rowid JOIN files f ON f.id = c.file
WHERE chunk_words MATCH ? {languages}
ORDER BY score LIMIT ?
"""


class Match(enum.Enum):
    """How something was found, and what that is worth."""

    EXACT = ("exact", 100.0)
    FOLDED = ("exact", 90.0)
    PREFIX = ("prefix", 70.0)
    WORDS = ("words", 50.0)
    SOME_WORDS = ("words", 30.0)
    TEXT = ("text", 25.0)
    SOME_TEXT = ("text", 10.0)

    @property
    def word(self) -> str:
        """As it is told."""
        return self.value[0]

    @property
    def worth(self) -> float:
        """Before anything else counts."""
        return self.value[1]


@dataclass(frozen=True, slots=True)
class Hit:
    """Something that was found."""

    path: str
    language: str
    line: int
    last: int
    kind: str
    name: str
    qualified: str
    signature: str
    match: Match
    score: float


@dataclass(frozen=True, slots=True)
class Query:
    """What is searched for."""

    names: tuple[str, ...]
    """As they were written."""
    words: tuple[str, ...]
    """What these are made of, without what says nothing."""

    @staticmethod
    def read(text: str) -> Query:
        """Take a text apart.

        Raises:
            ValueError: There is no word in it.
        """
        names = tuple(dict.fromkeys(names_in(text)))[:_MOST_WORDS]
        if not names:
            raise ValueError("query has no word in it; give a name or some words")
        telling = [name for name in names if name.lower() not in _SAYS_NOTHING] or list(names)
        words = dict.fromkeys(word for name in telling for word in (parts_of(name) or (name.lower(),)))
        return Query(tuple(telling), tuple(words)[:_MOST_WORDS])

    def asking(self, joined: str) -> str:
        """For FTS5, every word quoted: a word of its language is a word like any other."""
        return joined.join(f'"{word}"' for word in self.words)


def search(project: Project, text: str, *, limit: int, languages: Sequence[str] = ()) -> list[Hit]:
    """What fits a text best, best first.

    Args:
        project: Where.
        text: A name, or words.
        limit: At most so many.
        languages: Only files in these.

    Raises:
        ValueError: There is no word in the text.
    """
    asked = _Asked(project, Query.read(text), languages=tuple(languages))
    best: dict[tuple[str, int], Hit] = {}
    for hit in (*asked.named(), *asked.worded(), *asked.written()):
        place = (hit.path, hit.line)
        if hit.path in project.files and (place not in best or hit.score > best[place].score):
            best[place] = hit
    ordered = sorted(best.values(), key=lambda hit: (-hit.score, hit.path, hit.line))
    return _without_repeats(ordered)[:limit]


class _Asked:
    """One query, asked of one index in several ways."""

    def __init__(self, project: Project, query: Query, *, languages: tuple[str, ...]) -> None:
        self._index = project.index
        self._query = query
        self._languages = languages
        self._filter = f"AND f.language IN ({', '.join('?' * len(languages))})" if languages else ""

    def named(self) -> Iterable[Hit]:
        """Symbols called like one of the names, or beginning so."""
        for name in self._query.names:
            folded = name.lower()
            for hit in self._symbols("s.folded = ?", [folded]):
                yield self._weighed(hit, Match.EXACT if hit[5] == name else Match.FOLDED)
            if len(folded) > 2:  # noqa: PLR2004 - two letters begin half of all names
                for hit in self._symbols("s.folded > ? AND s.folded < ?", [folded, folded + _LAST]):
                    yield self._weighed(hit, Match.PREFIX)

    def worded(self) -> Iterable[Hit]:
        """Symbols whose names or notes have the words: all of them, else some."""
        for match, joined in ((Match.WORDS, " "), (Match.SOME_WORDS, " OR ")):
            statement = _SYMBOLS.format(
                score="bm25(symbol_words, 4.0, 1.0)",
                join="JOIN symbol_words ON symbol_words.rowid = s.id",
                where="symbol_words MATCH ?",
                languages=self._filter,
            )
            rows = self._index.rows(statement, (self._query.asking(joined), *self._languages, _LOOKED_AT))
            yield from (self._weighed(row, match) for row in rows)
            if len(rows) >= _LOOKED_AT or len(self._query.words) == 1:
                return

    def written(self) -> Iterable[Hit]:
        """Pieces of text that have the words: all of them, else some."""
        statement = _TEXT.format(languages=self._filter)
        for match, joined in ((Match.TEXT, " "), (Match.SOME_TEXT, " OR ")):
            rows = self._index.rows(statement, (self._query.asking(joined), *self._languages, _LOOKED_AT))
            yield from (self._weighed(row, match) for row in rows)
            if len(rows) >= _LOOKED_AT or len(self._query.words) == 1:
                return

    def _symbols(self, where: str, values: list[Any]) -> list[Any]:
        score = "length(s.qualified) + 20 * (s.kind = 'field')"
        statement = _SYMBOLS.format(score=score, join="", where=where, languages=self._filter)
        return self._index.rows(statement, (*values, *self._languages, _LOOKED_AT))

    def _covered(self, qualified: str) -> float:
        """More for a name that has more of the words, and fewer others."""
        words = set(parts_of(".".join(qualified.split(".")[-2:])))
        common = len(words.intersection(self._query.words))
        return 15.0 * common / len(self._query.words) + 5.0 * common / max(1, len(words))

    def _weighed(self, row: Sequence[Any], match: Match) -> Hit:
        *told, score = row
        path, kind, qualified = told[0], told[4], told[6]
        worth = match.worth
        if match in {Match.EXACT, Match.FOLDED, Match.PREFIX}:
            # Of several names, one that is the whole query says more than one of many words.
            worth = worth if len(self._query.names) == 1 else worth * 0.45
            worth -= 2.0 * qualified.count(".") + (3.0 if kind in {"field", "declaration", "variable"} else 0.0)
            worth -= 5.0 * (len(told[5]) - len(self._query.names[0])) / len(told[5]) if match is Match.PREFIX else 0.0
        else:
            worth += 15.0 * (-score) / (5.0 - score)
        if kind != "text":
            worth += self._covered(qualified)
        near = parts_of(path)
        worth += 6.0 * sum(word in near for word in self._query.words) / len(self._query.words)
        worth -= 20.0 if is_of_tests(path) else 0.0
        *described, signature = told
        return Hit(*described, signature=signature, match=match, score=round(max(0.1, worth), 2))


def _without_repeats(hits: list[Hit]) -> list[Hit]:
    """Leave out text around what is there as a symbol already."""
    kept: list[Hit] = []
    for hit in hits:
        around = (each for each in kept if each.path == hit.path)
        if hit.kind == "text" and any(each.line <= hit.last and hit.line <= each.last for each in around):
            continue
        kept.append(hit)
    return kept


def snippet(project: Project, hit: Hit, *, query: Query) -> tuple[int, str]:
    """Where to look in a hit, and what is written there now."""
    lines = project.lines(hit.path)
    start = hit.line if hit.kind != "text" else _densest(lines, hit, query=query)
    shown = [cut(line, _WIDEST) for line in lines[start - 1 : min(hit.last, start + _SHOWN - 1)]]
    return start, "\n".join(shown)


def _densest(lines: list[str], hit: Hit, *, query: Query) -> int:
    """The line of a piece of text that has most of the words."""
    wanted = set(query.words)

    def count(number: int) -> int:
        return len(wanted.intersection(word for name in names_in(lines[number - 1]) for word in parts_of(name)))

    numbers = range(hit.line, min(hit.last, len(lines)) + 1)
    return max(numbers, key=count, default=hit.line)
