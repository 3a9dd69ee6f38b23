"""What a program hands over, in the shapes of JSON. It is measured before it is copied.

A value of a few lines can hold another many times over: in the sandbox that is one value, and here it would be as many
as no memory holds. So every value is counted as often as it would be written, and nothing is looked at beyond a limit.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from callgate.model.shapes import as_mapping

MOST_BYTES = 16 * 1024 * 1024
MOST_VALUES = 100_000
"""What the arguments of one call take at most; most tools admit less."""
DEEPEST = 100
LONGEST_NUMBER = 14_000
"""Bits: Python writes no longer ones."""
_PLAIN = frozenset({float, bool, type(None)})
_SHORT = 1 << 63
_FEW = 64
_SMALL_TEXT = 4096


class NotPlain(ValueError):
    """The value has no form in JSON, or is nested too deeply; the message is for whoever wrote the program."""


class TooMuch(NotPlain):
    """The value is larger than it may be."""


@dataclass(frozen=True, slots=True)
class Unplain:
    """Stands for a value that was refused before it came here. It has no length and no items: nothing passes it on."""

    fault: str
    too_much: bool = False


class Handing:
    """Converts values until they are too much together."""

    def __init__(self, most: int, *, values: int | None = None) -> None:
        """Let at most so many bytes of JSON through, of at most so many values."""
        self._most = most
        self._left = most
        self._values = most if values is None else values
        self._values_left = self._values

    def plain(self, value: Any, depth: int = 0) -> Any:
        """The value in the shapes of JSON, sharing nothing that can change.

        Raises:
            NotPlain: It is none, or too much.
        """
        if type(value) in _PLAIN:
            return value
        if isinstance(value, str):
            self._take(2 + len(value))
            return value
        if isinstance(value, int):
            self._take_number(value)
            return value
        if isinstance(value, float):
            return value
        return self._container(value, depth)

    def _container(self, value: Any, depth: int) -> Any:
        if isinstance(value, Unplain):
            raise TooMuch(value.fault) if value.too_much else NotPlain(value.fault)
        if depth >= DEEPEST:
            raise NotPlain(f"it is nested more than {DEEPEST} deep")
        if isinstance(value, tuple | list):
            self._take(1 + len(value), values=len(value))  # pyright: ignore[reportUnknownArgumentType] - anyone's
            return [self.plain(each, depth + 1) for each in value]  # pyright: ignore[reportUnknownVariableType]
        mapping = as_mapping(value)
        if mapping is None:
            raise NotPlain(f"{type(value).__name__} is not JSON")
        return self._object(mapping, depth)

    def _object(self, mapping: Mapping[Any, Any], depth: int) -> dict[str, Any]:
        self._take(1 + 4 * len(mapping), values=len(mapping))
        plain: dict[str, Any] = {}
        for name, each in mapping.items():
            if not isinstance(name, str):
                raise NotPlain(f"a key is {type(name).__name__}, not text")
            self._take(len(name))
            plain[name] = self.plain(each, depth + 1)
        return plain

    def _take_number(self, value: int) -> None:
        if -_SHORT <= value < _SHORT:
            return
        bits = value.bit_length()
        if bits > LONGEST_NUMBER:
            raise NotPlain("an integer has more digits than can be written")
        self._take(bits // 4)

    def _take(self, size: int, *, values: int = 0) -> None:
        self._left -= size
        self._values_left -= values
        if self._left < 0:
            raise TooMuch(f"it takes more than {self._most} bytes")
        if self._values_left < 0:
            raise TooMuch(f"it has more than {self._values} values")


def are_few_and_small(values: Collection[Any]) -> bool:
    """Whether it is seen at once that the values are plain and take little: most arguments do."""
    return len(values) <= _FEW and all(map(_is_small, values))


def _is_small(value: Any) -> bool:
    if type(value) is int:
        return -_SHORT <= value < _SHORT
    if type(value) is str:
        return len(value) <= _SMALL_TEXT
    return type(value) in _PLAIN


def plain_value(value: Any, *, most: int) -> Any:
    """What a program hands over, in the shapes of JSON, if it takes at most so many bytes.

    Raises:
        NotPlain: It has no such form, or is too much.
    """
    return Handing(most).plain(value)
