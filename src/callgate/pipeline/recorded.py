"""The recorded view of a value: JSON whatever it was, bounded in size, and safe from being changed afterwards."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import asdict, is_dataclass
from typing import Any

from callgate.model.canonical import NotCanonical, dumps, loads

MOST_BYTES = 65_536
"""Beyond this, events keep the beginning and a digest; the ledger keeps the whole."""
_SCALARS = (str, int, bool, type(None))
_DEPTH = 60


def json_form(value: Any) -> Any:
    """A JSON value that stands for `value` and shares nothing with it that can change."""
    if isinstance(value, _SCALARS) and _canonical(value):
        return value
    try:
        return loads(dumps(value))
    except NotCanonical:
        return _stand_in(value, _DEPTH)


def view(value: Any) -> Any:
    """What an event keeps of an output: the JSON form, cut when it is large."""
    if isinstance(value, int | bool) or value is None:
        return value
    form = json_form(value)
    text = dumps(form)
    if len(text) <= MOST_BYTES:
        return form
    shown = text[: MOST_BYTES // 16].decode(errors="replace")
    return {"cut": True, "bytes": len(text), "sha256": hashlib.sha256(text).hexdigest(), "begins": shown}


def _canonical(value: Any) -> bool:
    if not isinstance(value, str):
        return True
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _stand_in(value: Any, depth: int) -> Any:
    if depth == 0:
        return "<nested too deeply>"
    if isinstance(value, _SCALARS):
        return value if _canonical(value) else value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, bytes | bytearray):
        return {"bytes": len(value), "sha256": hashlib.sha256(bytes(value)).hexdigest()}
    return _stand_in_container(value, depth - 1)


def _stand_in_container(value: Any, depth: int) -> Any:
    if isinstance(value, Mapping):
        return {_key(name): _stand_in(item, depth) for name, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_stand_in(item, depth) for item in value]
    dump = getattr(value, "model_dump", None)
    try:
        if callable(dump):
            return _stand_in(dump(mode="json"), depth)
        if is_dataclass(value) and not isinstance(value, type):
            return _stand_in(asdict(value), depth)
        return str(value)
    except Exception:  # noqa: BLE001 - a value that cannot even be shown must not break the record
        return f"<{type(value).__name__}>"


def _key(name: Any) -> str:
    text = name if isinstance(name, str) else str(name)
    return text.encode("utf-8", "backslashreplace").decode()
