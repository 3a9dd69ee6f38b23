"""Arguments as one bounded JSON text: the same door for every schema, so that only JSON gets past it.

What is read back from the text is nobody else's: later changes by the caller do not reach a call that was judged.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from callgate.errors import InvalidArguments
from callgate.model.canonical import NotCanonical, dumps

DEEPEST = 100
LARGEST_INTEGER_BITS = 1023
"""What a float can hold; more digits than that are an attack on whoever reads them."""
_SHORT = 2 * DEEPEST
"""Too short to be too deep: every level opens and closes."""
_dumps = orjson.dumps
_OPTIONS = orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_PASSTHROUGH_SUBCLASS


def write_arguments(arguments: Any, limit: int) -> bytes:
    """The arguments as JSON text of at most `limit` bytes.

    Raises:
        InvalidArguments: They are no object of JSON values, or too large, or nested too deeply.
    """
    if type(arguments) is not dict:
        arguments = _as_dict(arguments)
    try:
        text = _dumps(arguments, option=_OPTIONS)
    except orjson.JSONEncodeError:
        text = _write_slowly(arguments)  # pyright: ignore[reportUnknownArgumentType]
    else:
        if b"null" in text:
            # NaN is written as null without a word; the canonical form refuses it.
            _canonical(arguments)
    if len(text) > _SHORT or len(text) > limit:
        _refuse_large(arguments, text, limit=limit)
    return text


def whole_numbers(value: Any) -> Any:
    """The value with 1.0 in it as 1: JSON has one kind of number, and some writers one form."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {key: whole_numbers(item) for key, item in value.items()}  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, list):
        return [whole_numbers(item) for item in value]  # pyright: ignore[reportUnknownVariableType]
    return value


def _refuse_large(arguments: Any, text: bytes, *, limit: int) -> None:
    if len(text) > limit:
        raise InvalidArguments(f"The arguments are {len(text)} bytes; {limit} at most")
    # Every level opens with a bracket, so few brackets need no look.
    if text.count(b"[") + text.count(b"{") > DEEPEST:
        _refuse_depth(arguments)


def _refuse_depth(value: Any) -> None:
    level: list[Any] = [value]
    for _ in range(DEEPEST):
        level = [inner for outer in level for inner in _inside(outer) if isinstance(inner, (dict, list, tuple))]
        if not level:
            return
    raise InvalidArguments(f"The arguments are nested deeper than {DEEPEST} levels")


def _as_dict(arguments: Any) -> dict[Any, Any]:
    if not isinstance(arguments, Mapping):
        raise InvalidArguments(f"The arguments must be an object of named values, not {type(arguments).__name__}")
    try:
        return dict(arguments)  # pyright: ignore[reportUnknownArgumentType]
    except Exception as error:
        raise InvalidArguments("The arguments could not be read") from error


def _write_slowly(arguments: dict[Any, Any]) -> bytes:
    """Large integers, subclasses of JSON's types, and a word about everything else."""
    text = _canonical(arguments)
    pending: list[Any] = [arguments]
    while pending:
        value = pending.pop()
        if isinstance(value, int) and value.bit_length() > LARGEST_INTEGER_BITS:
            raise InvalidArguments("The arguments hold an integer of more than 300 digits; send it as text")
        pending.extend(_inside(value))
    return text


def _canonical(arguments: Any) -> bytes:
    try:
        return dumps(arguments)
    except NotCanonical as error:
        raise InvalidArguments(f"The arguments are not JSON: {_reason(error)}") from None
    except Exception as error:  # noqa: BLE001 - an integer beyond Python's own limit, an object that bites
        raise InvalidArguments(f"The arguments are not JSON ({type(error).__name__})") from None


def _reason(error: NotCanonical) -> str:
    words = str(error)
    # A key that is no text is shown by its own repr, which may say more than a message should.
    return "a key is not text" if words.startswith("key ") else words


def _inside(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    return list(value) if isinstance(value, (list, tuple)) else []  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
