"""Walk: apply one function to every text inside a value, whatever it is made of. Knows neither secrets nor patterns."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Callable, Iterator, Mapping
from copy import copy
from typing import Any, cast

DEEPEST = 100
TOO_DEEP = "[nested too deeply]"
CONTAINS_ITSELF = "[contains itself]"
UNREADABLE = "[unreadable]"

_PLAIN: tuple[type[Any], ...] = (list, tuple, set, frozenset)
_TOGETHER = 16
"""So many items of a list are looked at in one go."""


def rewrite(value: Any, change: Callable[[str], str], *, spared: Callable[[list[Any]], bool] | None = None) -> Any:
    """The value with `change` applied to every text in it, keys too; the same object when nothing changed.

    Numbers, bytes and foreign objects count as the text they are shown as. Whatever is nested too deeply, contains
    itself or cannot be read is replaced by a word about it.

    Args:
        value: Anything.
        change: Gives the same text where nothing is to be changed.
        spared: Tells of items of a list that nothing is to be changed in them, at less than it costs to walk them.
    """
    try:
        return _Walk(change, spared).value(value, 0)
    except RecursionError:
        return TOO_DEEP


def texts(value: Any) -> Iterator[str]:
    """Every text inside a value, in no particular order."""
    found: list[str] = []

    def note(text: str) -> str:
        found.append(text)
        return text

    rewrite(value, note)
    yield from found


class _Walk:
    """One walk; remembers what it has seen, so that a value reached twice is rewritten once."""

    __slots__ = ("_change", "_seen", "_spared")

    def __init__(self, change: Callable[[str], str], spared: Callable[[list[Any]], bool] | None) -> None:
        self._change = change
        self._spared = spared
        self._seen: dict[int, tuple[Any, Any]] = {}

    def value(self, value: Any, depth: int) -> Any:
        if type(value) is str:
            return self._change(value)
        if value is None or value is True or value is False:
            return value
        visit = self._visitor(value)
        return self._leaf(value) if visit is None else self._inside(value, visit, depth=depth)

    def _visitor(self, value: Any) -> Callable[[Any, int], Any] | None:
        if isinstance(value, Mapping):
            return self._mapping
        if isinstance(value, (list, tuple, set, frozenset)):
            return self._sequence
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            return self._dataclass
        return None

    def _inside(self, value: Any, visit: Callable[[Any, int], Any], *, depth: int) -> Any:
        if depth >= DEEPEST:
            return TOO_DEEP
        if id(value) in self._seen:
            return self._seen[id(value)][1]
        # The value is kept as well: an id is only its own while it lives.
        self._seen[id(value)] = (value, CONTAINS_ITSELF)
        result = visit(value, depth + 1)
        self._seen[id(value)] = (value, result)
        return result

    def _mapping(self, value: Mapping[Any, Any], depth: int) -> Any:
        changed: dict[Any, Any] = {}
        same = True
        for key, item in list(value.items()):
            new_key, new_item = self.value(key, depth), self.value(item, depth)
            same = same and new_key is key and new_item is item
            changed[_free(new_key, changed)] = new_item
        return value if same else changed

    def _sequence(self, value: Any, depth: int) -> Any:
        items: list[Any] = list(value)
        changed = [new for some in range(0, len(items), _TOGETHER) for new in self._some(items, some, depth=depth)]
        if all(new is old for new, old in zip(changed, items, strict=True)):
            return value
        if hasattr(value, "_fields"):  # a named tuple
            return type(value)(*changed)
        return next(kind(changed) for kind in _PLAIN if isinstance(value, kind))

    def _some(self, items: list[Any], at: int, *, depth: int) -> list[Any]:
        some = items[at : at + _TOGETHER]
        if self._spared is None or len(items) == 1:
            return [self.value(item, depth) for item in some]
        if self._spared(some):
            return some
        return [item if self._spared([item]) else self.value(item, depth) for item in some]

    def _dataclass(self, value: Any, depth: int) -> Any:
        fields = [(field.name, getattr(value, field.name, None)) for field in dataclasses.fields(value)]
        changed = {name: new for name, old in fields if (new := self.value(old, depth)) is not old}
        if not changed:
            return value
        result = copy(value)
        for name, new in changed.items():
            # Past `frozen` and past conversions in `__setattr__`: what was struck must be what is there.
            object.__setattr__(result, name, new)
        return result

    def _leaf(self, value: Any) -> Any:
        if isinstance(value, str):
            text = str.__str__(value)
            new = self._change(text)
            return value if new is text else new
        if isinstance(value, enum.Enum):
            new = self.value(value.value, DEEPEST - 1)
            return value if new is value.value else new
        if isinstance(value, (bytes, bytearray, memoryview)):
            return self._bytes(cast("bytes | bytearray | memoryview", value))
        for show in (str, repr):
            shown = _shown(value, show)
            if shown is None:
                return UNREADABLE
            new = self._change(shown)
            if new is not shown:
                return new
        return value

    def _bytes(self, value: bytes | bytearray | memoryview) -> Any:
        text = bytes(value).decode("latin-1")
        new = self._change(text)
        if new is text:
            return value
        return bytearray(new, "latin-1") if isinstance(value, bytearray) else new.encode("latin-1")


def _shown(value: Any, show: Callable[[Any], str]) -> str | None:
    try:
        return show(value)
    except Exception:  # noqa: BLE001 - a foreign object's own text may fail in any way
        return None


def _free(key: Any, taken: dict[Any, Any]) -> Any:
    """A key that does not push out another one that became equal to it."""
    free, count = key, 2
    while free in taken:
        free, count = f"{key} ({count})", count + 1
    return free
