"""The values of a chain: literals, results of earlier calls, and what is in them. Looked up, never evaluated."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from callgate.model.shapes import as_mapping
from callgate.model.visible import brief

_LETTERS = 100
"""Of a text that weigh as much as one value."""


class NotThere(LookupError):
    """A result has not what the chain takes from it."""


@dataclass(frozen=True, slots=True)
class Literal:
    """A value as it is written."""

    value: Any
    weight: int = field(init=False)
    depth: int = 0

    def __post_init__(self) -> None:
        more = len(self.value) // _LETTERS if isinstance(self.value, str) else 0
        object.__setattr__(self, "weight", 1 + more)


@dataclass(frozen=True, slots=True)
class Result:
    """What a call of the chain returned."""

    place: int
    """Of the call, from 0."""
    weight: int = 100
    depth: int = 0


@dataclass(frozen=True, slots=True)
class Item:
    """What is under a key, an attribute or an index of another value."""

    of: Value
    key: Value
    place: str
    """Where the text says so, for whoever has to be told that it is not there."""
    weight: int = field(init=False)
    depth: int = field(init=False)

    def __post_init__(self) -> None:
        _measure(self, (self.of, self.key))


@dataclass(frozen=True, slots=True)
class Listing:
    """A list of values."""

    items: tuple[Value, ...]
    weight: int = field(init=False)
    depth: int = field(init=False)

    def __post_init__(self) -> None:
        _measure(self, self.items)


@dataclass(frozen=True, slots=True)
class Table:
    """An object: keys that are written, and their values."""

    items: tuple[tuple[str, Value], ...]
    weight: int = field(init=False)
    depth: int = field(init=False)

    def __post_init__(self) -> None:
        _measure(self, [item for _, item in self.items], more=sum(len(key) // _LETTERS for key, _ in self.items))


HEAVIEST = 20_000
"""Names stand for values that hold others: a few lines could make a value that no memory holds."""
HEAVIEST_TOGETHER = 300_000
"""Of all names and arguments of a chain: each of them is looked up on the loop that others wait for."""
DEEPEST = 50
"""Values in values: as many names as one likes may stand one in the other, and are walked like that."""
Value = Literal | Result | Item | Listing | Table
Results = Mapping[int, Any]


def _measure(value: Item | Listing | Table, parts: Sequence[Value], *, more: int = 0) -> None:
    object.__setattr__(value, "weight", 1 + more + sum(part.weight for part in parts))
    object.__setattr__(value, "depth", 1 + max((part.depth for part in parts), default=0))


def look_up(value: Value, results: Results) -> Any:
    """The value itself.

    Raises:
        NotThere: A result has no such key or index.
    """
    match value:
        case Literal():
            return value.value
        case Result():
            return results[value.place]
        case Listing():
            return [look_up(item, results) for item in value.items]
        case Table():
            return {key: look_up(item, results) for key, item in value.items}
        case Item():
            return _item(look_up(value.of, results), look_up(value.key, results), place=value.place)


def results_in(value: Value) -> Iterator[int]:
    """The calls whose results the value is made of."""
    match value:
        case Literal():
            return
        case Result():
            yield value.place
        case Listing():
            for item in value.items:
                yield from results_in(item)
        case Table():
            for _, item in value.items:
                yield from results_in(item)
        case Item():
            yield from results_in(value.of)
            yield from results_in(value.key)


def _item(of: Any, key: Any, *, place: str) -> Any:
    mapping = as_mapping(of)
    if mapping is not None and isinstance(key, str) and key in mapping:
        return mapping[key]
    if isinstance(of, list | str) and type(key) is int:
        items = cast("Sequence[Any]", of)
        if -len(items) <= key < len(items):
            return items[key]
        raise NotThere(f"{place}: it has {len(items)} items, and none at {key}")
    kind = "object" if mapping is not None else type(cast("object", of)).__name__
    raise NotThere(f"{place}: this {kind} has no {brief(repr(key))}")
