"""Shards: an immutable mapping whose changed copies share all parts but those that changed. Knows nothing of tools.

A copy of one large dictionary per added tool would make adding thousands quadratic. Split by hash into a fixed
number of small dictionaries, a change copies one of them, and a look-up stays one index and one `get`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Generic, TypeVar

V = TypeVar("V")

COUNT = 256
MASK = COUNT - 1


class Shards(Generic[V]):
    """An immutable mapping from text to values. Make changed ones with `edit()`."""

    __slots__ = ("parts",)

    def __init__(self, parts: Sequence[dict[str, V]] | None = None) -> None:
        # All of an empty mapping's parts may be one and the same dictionary: nobody ever writes into a part.
        self.parts: Sequence[dict[str, V]] = parts if parts is not None else [{}] * COUNT

    def get(self, key: str) -> V | None:
        """The value of a key, or None."""
        return self.parts[hash(key) & MASK].get(key)

    def edit(self) -> Edit[V]:
        """A draft of a changed copy."""
        return Edit(self.parts)

    def __len__(self) -> int:
        return sum(map(len, self.parts))

    def __iter__(self) -> Iterator[V]:
        for part in self.parts:
            yield from part.values()


class Edit(Generic[V]):
    """A changed copy in the making; it copies a part the first time it writes there."""

    __slots__ = ("_own", "_parts")

    def __init__(self, parts: Sequence[dict[str, V]]) -> None:
        self._parts = list(parts)
        self._own: set[int] = set()

    def get(self, key: str) -> V | None:
        """The value of a key as it stands in the draft, or None."""
        return self._parts[hash(key) & MASK].get(key)

    def put(self, key: str, value: V) -> None:
        """Set a key."""
        self._writable(key)[key] = value

    def drop(self, key: str) -> None:
        """Remove a key, if it is there."""
        self._writable(key).pop(key, None)

    def done(self) -> Shards[V]:
        """The mapping; the draft must not be used any more."""
        return Shards(self._parts)

    def _writable(self, key: str) -> dict[str, V]:
        slot = hash(key) & MASK
        if slot not in self._own:
            self._own.add(slot)
            self._parts[slot] = self._parts[slot].copy()
        return self._parts[slot]
