"""The part of any value that JSON can hold; the rest is marked in its place, so that no record is lost for a leaf."""

from __future__ import annotations

import json
import math
from typing import Any, cast

import orjson

from callgate.model.canonical import NotCanonical, dumps, quick

_DEEPEST = 200
_PLAIN_KEYS = (int, float, bool, type(None))
_DIGITS = 308
"""What every reader of JSON can take: one more, and the number is beyond a double."""
_END = 10**_DIGITS


def recordable_bytes(value: Any) -> bytes:
    """The canonical bytes of a value, or of as much of it as JSON can hold.

    What has no canonical form becomes `{"unrecordable": reason}`, leaf by leaf, and so does an integer that is too long
    to be read again everywhere. Never raises for what a value is.
    """
    try:
        text = quick(value)
        if text is not None:
            return text
    except NotCanonical:
        pass
    except Exception as error:  # noqa: BLE001 - a value may do anything when it is read, but not stop the record
        return dumps(unrecordable(f"{type(error).__name__} while it was read"))
    try:
        return dumps(_marked(value, frozenset()))
    except Exception as error:  # noqa: BLE001 - as above
        return dumps(unrecordable(f"{type(error).__name__} while it was read"))


def read_back(text: str | bytes) -> Any:
    """Read what `recordable_bytes` wrote, integers beyond 64 bits included, and what older records may hold.

    Raises:
        ValueError: It is no JSON, or nested too deeply.
    """
    try:
        value = orjson.loads(text)
        # orjson takes integers beyond 64 bits for floats without a word; what it writes then is not what was read.
        if orjson.dumps(value) == (text.encode() if isinstance(text, str) else text):
            return value
    except (orjson.JSONDecodeError, orjson.JSONEncodeError):
        pass  # An integer beyond a double, something deep, or no JSON at all.
    try:
        return json.loads(text, parse_int=_integer)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def is_short(value: int) -> bool:
    """Whether every reader of JSON can take this integer."""
    return -_END < value < _END


def too_long(value: int) -> dict[str, str]:
    """What stands in the place of an integer that not every reader of JSON can take."""
    return _of_digits(int(math.log10(abs(value))) + 1)


def unrecordable(reason: str) -> dict[str, str]:
    """What stands in the place of a value that could not be recorded."""
    return {"unrecordable": reason}


def clean_text(text: str) -> str:
    """The text as UTF-8 can hold it, lone surrogates escaped."""
    return str.__str__(text).encode("utf-8", "backslashreplace").decode()


def _marked(value: Any, inside: frozenset[int]) -> Any:
    """A copy in which only JSON is left; `inside` has the containers that the value is in."""
    if not isinstance(value, (dict, list, tuple)):
        return _marked_leaf(value)
    if id(cast("object", value)) in inside or len(inside) > _DEEPEST:
        return unrecordable("nested too deeply, or contains itself")
    inside |= {id(cast("object", value))}
    if isinstance(value, dict):
        return {_key(key): _marked(item, inside) for key, item in cast("dict[Any, Any]", value).items()}
    return [_marked(item, inside) for item in cast("list[Any]", value)]


def _marked_leaf(value: Any) -> Any:
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, int) and not is_short(value):
        return too_long(value)
    try:
        dumps(value)
    except NotCanonical as error:
        return unrecordable(str(error))
    return value


def _key(key: Any) -> str:
    if isinstance(key, str):
        return clean_text(key)
    if isinstance(key, int) and not is_short(key):
        return "<int>"
    return str(key) if isinstance(key, _PLAIN_KEYS) else f"<{type(key).__name__}>"


def _integer(text: str) -> Any:
    try:
        return int(text)
    except ValueError:  # more digits than this Python reads
        return _of_digits(len(text.lstrip("-")))


def _of_digits(count: int) -> dict[str, str]:
    return unrecordable(f"an integer of {count} digits")
