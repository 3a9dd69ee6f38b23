"""What Python has no value for that says the same, so that DuckDB itself writes it: times, dates, intervals, variants.

A month is no number of days, a date may be infinite, a moment may have nine digits, and Python reads zones from files.
Knows types only, and no value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from callgate.tools.data.sql_tables import quoted

_TEXTS = "date", "time", "interval"
"""How the types begin that are written as text: there are `timestamp_ns`, `time with time zone` and others."""
_TEXT = "VARCHAR"


def columns_with_texts(types: Sequence[Any]) -> str | None:
    """The columns of a result, written for a SELECT over it; none where all of them can be read as they are.

    Args:
        types: Of the columns, in their order, as DuckDB gives them.
    """
    wanted = [_written(kind) for kind in types]
    if not any(wanted):
        return None
    return ", ".join(
        f"{f'CAST(#{at} AS {text})' if text else f'#{at}'} AS c{at}" for at, text in enumerate(wanted, start=1)
    )


def _written(kind: Any) -> str | None:
    """The type to cast to, or none where nothing in it has to be text."""
    name = kind.id
    if name.startswith(_TEXTS):
        return _TEXT
    if name == "variant":
        # Its type is known for each value only. As JSON a text in it can be told from a number.
        return "JSON"
    return _NESTED[name](kind) if name in _NESTED else None


def _list(kind: Any) -> str | None:
    [(_, inner), *size] = kind.children
    text = _written(inner)
    return text and f"{text}[{size[0][1] if size else ''}]"


def _named(word: str, children: Sequence[tuple[str, Any]]) -> str | None:
    texts = [_written(inner) for _, inner in children]
    if not any(texts):
        return None
    parts = [
        f"{quoted(name) if name else ''} {text or inner}" for (name, inner), text in zip(children, texts, strict=True)
    ]
    return f"{word}({', '.join(parts)})"


_NESTED: dict[str, Callable[[Any], str | None]] = {
    "list": _list,
    "array": _list,
    "struct": lambda kind: _named("STRUCT", kind.children),
    "tuple": lambda kind: _named("TUPLE", kind.children),
    "map": lambda kind: _named("MAP", [("", inner) for _, inner in kind.children]),
    # The first says which of the others it is.
    "union": lambda kind: _named("UNION", kind.children[1:]),
}
