"""Handlers named by a file: a dotted place, imported. What cannot be imported is a reason, and never a stub."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, cast

from callgate.adapters.told import told
from callgate.model.visible import brief

_WORD = r"[A-Za-z_][A-Za-z0-9_]*"
_PLACE = re.compile(rf"(?P<module>{_WORD}(?:\.{_WORD})*)[:.](?P<function>{_WORD}(?:\.{_WORD})*)")


class Found(NamedTuple):
    """A handler, or why there is none."""

    function: Callable[..., Any] | None
    missing: str = ""


def find_handler(entry: Mapping[str, Any]) -> Found:
    """The function an entry names: `handler: module:function`, `module` and `function`, or both in `implementation`."""
    inner: Any = entry.get("implementation")
    said = cast("Mapping[str, Any]", inner) if isinstance(inner, Mapping) else entry
    place: Any = said.get("handler")
    if place is None and said.get("module") is not None:
        place = f"{said['module']}:{said.get('function', '')}"
    if place is None:
        return Found(None, "no handler is named for it: write handler: module:function")
    match = _PLACE.fullmatch(str(place)) if ":" in str(place) or "." in str(place) else None
    if match is None:
        return Found(None, f"its handler {brief(str(place))!r} is no place: write module:function")
    return _import(match["module"], match["function"])


def _import(module: str, function: str) -> Found:
    try:
        found: Any = importlib.import_module(module)
        for part in function.split("."):
            found = getattr(found, part)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever a module does when it is imported
        return Found(None, f"its handler cannot be imported: {told(error)}")
    if not callable(found):
        return Found(None, f"its handler {module}:{function} is no function")
    return Found(found)
