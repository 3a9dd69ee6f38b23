"""WordIndex: which entries have which words, and how well they fit a query (BM25). Grows at its end; knows no store."""

from __future__ import annotations

import math
import threading
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from heapq import nsmallest
from itertools import islice
from typing import NamedTuple

from callgate.registry.words import stems, words

_SATURATION = 1.2
_LENGTH = 0.75
_WORDS_ASKED = 32


class Indexed(NamedTuple):
    """An entry, for the index."""

    number: int
    project: str | None
    text: str


class Hit(NamedTuple):
    """An entry that fits."""

    number: int
    score: float


class WordIndex:
    """The words of one person's entries, as far as they were read. Safe to use from several threads.

    Args:
        entries: How many entries it remembers at most; then it forgets the older half.
        words: How many words, likewise: a few long entries must not take all memory.
    """

    def __init__(self, *, entries: int = 100_000, words: int = 3_000_000) -> None:
        self._most_entries = entries
        self._most_words = words
        self._lock = threading.Lock()
        self._numbers: list[int] = []
        self._projects: list[str | None] = []
        self._lengths: list[int] = []
        self._total = 0
        self._postings: dict[str, tuple[list[int], list[int]]] = {}
        self._stemmed: dict[str, tuple[str, ...]] = {}

    def __len__(self) -> int:
        return len(self._numbers)

    @property
    def last(self) -> int:
        """The number of the last entry in it; -1 when there is none."""
        return self._numbers[-1] if self._numbers else -1

    def add(self, entries: Iterable[Indexed]) -> None:
        """Take in entries by rising number; those that are there already are left out."""
        with self._lock:
            for entry in entries:
                if entry.number > self.last:
                    self._add(entry)
            self._stemmed.clear()

    def find(self, query: str, *, limit: int, project: str | None = None) -> tuple[Sequence[Hit], int]:
        """The entries that share words with a query, best first and then newest first; and how many do."""
        with self._lock:
            scores = self._scores(query)
            if project is not None:
                scores = {at: score for at, score in scores.items() if self._projects[at] == project}
            best = nsmallest(limit, ((-score, -at) for at, score in scores.items()))
            return [Hit(self._numbers[-at], round(-score, 4)) for score, at in best], len(scores)

    def _add(self, entry: Indexed) -> None:
        counts: dict[str, int] = {}
        for word in words(entry.text):
            known = self._stemmed.get(word)
            if known is None:
                known = self._stemmed[word] = stems(word)
            for stem in known:
                counts[stem] = counts.get(stem, 0) + 1
        at, length = len(self._numbers), sum(counts.values())
        for stem, count in counts.items():
            places, numbers = self._postings.setdefault(stem, ([], []))
            places.append(at)
            numbers.append(count)
        self._numbers.append(entry.number)
        self._projects.append(entry.project)
        self._lengths.append(length)
        self._total += length
        if len(self._numbers) > self._most_entries or self._total > self._most_words:
            self._forget(len(self._numbers) // 2)

    def _forget(self, oldest: int) -> None:
        for kept in (self._numbers, self._projects, self._lengths):
            del kept[:oldest]
        self._total = sum(self._lengths)
        for stem, (places, counts) in list(self._postings.items()):
            gone = bisect_left(places, oldest)
            places[:] = [at - oldest for at in places[gone:]]
            del counts[:gone]
            if not places:
                del self._postings[stem]

    def _scores(self, query: str) -> dict[int, float]:
        asked = dict.fromkeys(stem for word in words(query) for stem in stems(word))
        scores: dict[int, float] = {}
        everything, lengths = len(self._numbers), self._lengths
        mean = self._total / everything if self._total else 1.0
        for stem in islice(asked, _WORDS_ASKED):
            places, counts = self._postings.get(stem, ((), ()))
            rarity = math.log(1 + (everything - len(places) + 0.5) / (len(places) + 0.5)) * (_SATURATION + 1)
            for at, count in zip(places, counts, strict=True):
                damping = _SATURATION * (1 - _LENGTH + _LENGTH * lengths[at] / mean)
                scores[at] = scores.get(at, 0.0) + rarity * count / (count + damping)
        return scores
