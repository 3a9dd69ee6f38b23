"""Words: names taken apart, so that `parseHttpRequest` is found by "http request"."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable

_NAME = re.compile(r"[^\W\d]\w*|\d\w{2,}")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z][a-z]+|[a-z]+|\d+|[^\W\da-zA-Z_]+")
_LONGEST = 100
"""Characters of a name; what is longer is data."""


def names_in(text: str) -> list[str]:
    """The names and words of a text, in their order."""
    return [name for name in _NAME.findall(text) if len(name) <= _LONGEST]


@functools.lru_cache(maxsize=100_000)
def parts_of(name: str) -> tuple[str, ...]:
    """The words that a name is made of, in lower case: camelCase, snake_case, HTTPServer2."""
    return tuple(part.lower() for part in _PART.findall(name))


@functools.lru_cache(maxsize=100_000)
def _spoken(name: str) -> str:
    parts = parts_of(name)
    whole = name.lower()
    return whole if not parts or parts == (whole,) else " ".join((whole, *parts))


def spoken(names: Iterable[str]) -> str:
    """Names as a text to be searched: each as it is, and its parts."""
    return " ".join(map(_spoken, names))
