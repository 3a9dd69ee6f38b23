"""Search: ranks tools by words over thousands (BM25 over names, tags and descriptions). Knows words, not meaning."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from heapq import nsmallest
from itertools import islice

from callgate.model.tool import Tool
from callgate.registry.words import stems, words

_SATURATION = 1.2
_LENGTH = 0.5
_IN_NAME = 3.0
_IN_TAGS = 2.0
_LONGEST = 4000
"""Characters of a description that count: enough for any honest one."""
_QUERY = 500
_WORDS_ASKED = 16
_PREFIX = 3
_PREFIXES = 20
_PREFIX_WEIGHT = 0.5

Posting = tuple[list[int], list[float]]


class Index:
    """The words of some tools. Built once, for tools that do not change."""

    def __init__(self, tools: Sequence[Tool]) -> None:
        self._tools = tools
        self._postings: dict[str, Posting] = {}
        stemmed: dict[str, tuple[str, ...]] = {}
        self._weigh([self._read(place, tool, stemmed=stemmed) for place, tool in enumerate(tools)])
        self._vocabulary = sorted(self._postings)

    def search(self, query: str, *, limit: int = 10, admits: Callable[[Tool], bool] | None = None) -> tuple[Tool, ...]:
        """The tools that share a word with the query and that `admits` lets through, best first, equal ones by name."""
        scores: dict[int, float] = {}
        for word, weight in self._asked(query):
            places, values = self._postings[word]
            for place, value in zip(places, values, strict=True):
                scores[place] = scores.get(place, 0.0) + weight * value
        tools = self._tools
        ranked = nsmallest(
            max(limit, 0),
            (
                (-score, tools[place].name, place)
                for place, score in scores.items()
                if admits is None or admits(tools[place])
            ),
        )
        return tuple(tools[place] for _, _, place in ranked)

    def _asked(self, query: str) -> Iterator[tuple[str, float]]:
        """The words of a query that the index has; for others, words that begin with them, at half weight."""
        asked = dict.fromkeys(stem for word in words(query[:_QUERY]) for stem in stems(word))
        for stem in islice(asked, _WORDS_ASKED):
            if stem in self._postings:
                yield stem, 1.0
            elif len(stem) >= _PREFIX:
                yield from ((word, _PREFIX_WEIGHT) for word in self._beginning(stem))

    def _beginning(self, start: str) -> Iterator[str]:
        first = bisect_left(self._vocabulary, start)
        for word in self._vocabulary[first : first + _PREFIXES]:
            if not word.startswith(start):
                return
            yield word

    def _read(self, place: int, tool: Tool, *, stemmed: dict[str, tuple[str, ...]]) -> float:
        """Count the words of one tool, each by where it stands; their sum is the tool's length."""
        counts: dict[str, float] = {}
        for word, weight in _weighted(tool):
            known = stemmed.get(word)
            if known is None:
                known = stemmed[word] = stems(word)
            for stem in known:
                counts[stem] = counts.get(stem, 0.0) + weight
        for stem, count in counts.items():
            posting = self._postings.get(stem)
            if posting is None:
                posting = self._postings[stem] = ([], [])
            posting[0].append(place)
            posting[1].append(count)
        return sum(counts.values())

    def _weigh(self, lengths: Sequence[float]) -> None:
        """Turn counts into what each contributes to a score, so that a query only adds."""
        total = len(lengths)
        mean = sum(lengths) / total if total else 1.0
        damping = [_SATURATION * (1 - _LENGTH + _LENGTH * length / (mean or 1.0)) for length in lengths]
        for places, counts in self._postings.values():
            rarity = math.log(1 + (total - len(places) + 0.5) / (len(places) + 0.5))
            gain = rarity * (_SATURATION + 1)
            counts[:] = [gain * count / (count + damping[place]) for place, count in zip(places, counts, strict=True)]


def _weighted(tool: Tool) -> Iterator[tuple[str, float]]:
    """Every word of a tool with the weight of where it stands."""
    labels = " ".join((tool.category, *tool.tags, *tool.capabilities))
    for text, weight in ((tool.name, _IN_NAME), (labels, _IN_TAGS), (tool.description[:_LONGEST], 1.0)):
        for word in words(text):
            yield word, weight
