"""One byte string per JSON value: what fingerprints, digests and the audit chain are made over.

The form: UTF-8, keys sorted by code point, no spaces, integers in decimal whatever their size, floats in the
shortest form that reads back equal. Refused, because two readers could disagree about them: NaN and infinities,
lone surrogates, keys that are not text, duplicate keys in text that is read.
"""

from __future__ import annotations

import enum
import json
import math
from collections.abc import Iterator
from typing import Any, cast

import orjson

SORTED = (
    orjson.OPT_SORT_KEYS
    | orjson.OPT_PASSTHROUGH_DATACLASS
    | orjson.OPT_PASSTHROUGH_DATETIME
    | orjson.OPT_PASSTHROUGH_SUBCLASS
)
"""How orjson writes the canonical form, of what it can write so."""
_NEVER_NULL = frozenset({str, int, bool})


class NotCanonical(ValueError):
    """The value has no canonical form; the message says why."""


def dumps(value: Any) -> bytes:
    """The canonical bytes of a JSON value.

    Raises:
        NotCanonical: The value is not JSON, or has one of the refused parts.
    """
    text = quick(value)
    return _spell(value) if text is None else text


def quick(value: Any) -> bytes | None:
    """As `dumps`, for what needs no careful spelling; None for integers beyond 64 bits and whatever else is rare.

    Raises:
        NotCanonical: The value has NaN or an infinity.
    """
    try:
        text = orjson.dumps(value, option=SORTED)
    except orjson.JSONEncodeError:
        return None
    # orjson writes NaN as null without a word; only where one stands as a value is the walk needed.
    nulls, at = 0, text.find(b"null")
    while at >= 0:
        nulls += at == 0 or text[at - 1] in b":,["
        at = text.find(b"null", at + 4)
    if nulls:
        _refuse_nan(value, nulls=nulls)
    return text


def loads(text: str | bytes) -> Any:
    """Read JSON text, refusing what has more than one reading.

    Raises:
        NotCanonical: The text is not JSON, repeats a key, or holds NaN, an infinity or a lone surrogate.
    """
    try:
        value = json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse_constant)
    except NotCanonical:
        raise
    except (ValueError, RecursionError) as error:  # also an integer with more digits than Python reads
        raise NotCanonical(f"not JSON: {error}") from error
    dumps(value)
    return value


def _spell(value: Any) -> bytes:
    """The slow path: integers beyond 64 bits, and a clear word about what cannot be written."""
    try:
        return _write(value).encode()
    except RecursionError as error:
        raise NotCanonical("nested too deeply, or contains itself") from error
    except UnicodeEncodeError as error:
        raise NotCanonical("text contains a lone surrogate") from error


def _write(value: Any) -> str:
    if isinstance(value, dict):
        return _write_object(cast("dict[Any, Any]", value))
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(_write(item) for item in value) + "]"  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, int) and not isinstance(value, bool):
        return _write_integer(value)
    return _write_scalar(value)


def _write_integer(value: int) -> str:
    try:
        return int.__repr__(value)
    except ValueError as error:  # Python spells out only so many digits, because it takes the square of their number
        raise NotCanonical("an integer has more digits than can be written") from error


def _write_object(value: dict[Any, Any]) -> str:
    for key in value:
        if not isinstance(key, str):
            raise NotCanonical(f"key {key!r} is {type(key).__name__}, not text")
    items = sorted(value.items())
    return "{" + ",".join(f"{_write_scalar(key)}:{_write(item)}" for key, item in items) + "}"


def _write_scalar(value: Any) -> str:
    if isinstance(value, float):
        value = float(value)
        _refuse_infinite(value)
    elif isinstance(value, str):
        value = str.__str__(value)
        value.encode()
    try:
        return orjson.dumps(value, option=SORTED).decode()
    except orjson.JSONEncodeError as error:
        raise NotCanonical(f"{type(value).__name__} is not JSON") from error


def _refuse_nan(value: Any, *, nulls: int) -> None:
    """Find what is None and was written as null: where that is all of them, nothing else was."""
    for item in _outermost_first(value):
        if item is None:
            nulls -= 1
            if not nulls:
                return
        elif isinstance(item, float):
            _refuse_infinite(item)


def _outermost_first(value: Any) -> Iterator[Any]:
    """What is in it, level by level, but what is never written as null."""
    level = [value]
    while level:
        below: list[Any] = []
        for item in level:
            if type(item) in _NEVER_NULL:
                continue
            plain = item.value if isinstance(item, enum.Enum) else item
            if isinstance(plain, dict):
                below += cast("dict[Any, Any]", plain).values()
            elif isinstance(plain, (list, tuple)):
                below += cast("list[Any]", plain)
            else:
                yield plain
        level = below


def _refuse_infinite(value: float) -> None:
    if not math.isfinite(value):
        raise NotCanonical(f"{value} has no canonical form")


def _refuse_constant(word: str) -> None:
    raise NotCanonical(f"{word} has no canonical form")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))
        raise NotCanonical(f"key {twice!r} is given twice")
    return result
