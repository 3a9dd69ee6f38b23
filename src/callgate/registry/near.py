"""Near: which of some names were probably meant by one that does not exist. Shows nothing but the names it is given."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import lru_cache

from callgate.model.nearest import nearest

_ENOUGH = 0.5
_LONGEST = 64
"""Of the name asked for: a model may send a megabyte."""


def near(name: str, names: Iterable[str], *, limit: int = 3) -> tuple[str, ...]:
    """The names most like `name`, best first, by the pairs of letters they share; none when nothing is close."""
    asked = _pairs(name[:_LONGEST])
    size = len(asked)
    found: list[tuple[float, str]] = []
    for known in names:
        pairs = _known_pairs(known)
        shared = len(asked & pairs)
        # Dice's coefficient, without the division for the many that share little.
        if 2 * shared >= _ENOUGH * (size + len(pairs)):
            found.append((-2 * shared / (size + len(pairs)), known))
    return tuple(known for _, known in sorted(found)[:limit])


def meant(name: str, names: Collection[str]) -> str | None:
    """The one that was meant: by the pairs of letters they share, or, as in a short name with two swapped, letters."""
    return next(iter(near(name, names, limit=1)), None) or nearest(name, names)


def suggestion(name: str, names: Iterable[str]) -> str:
    """A sentence a model can act on."""
    found = near(name, names)
    if not found:
        return "List the tools and use one of their names exactly."
    return f"Did you mean {' or '.join(found)}?"


def _pairs(name: str) -> frozenset[str]:
    plain = "_" + name.casefold().replace(".", "_").replace("-", "_").replace("__", "_") + "_"
    return frozenset(plain[place : place + 2] for place in range(len(plain) - 1))


_known_pairs = lru_cache(maxsize=32_768)(_pairs)
"""Names of tools and of their parameters, which are few and stay; never the names that were asked for."""
