"""How faults in arguments are said: one wording for every kind of schema, naming the parameter and never its value."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from callgate.errors import InvalidArguments
from callgate.model.visible import brief
from callgate.model.visible import cut as cut_at

MOST = 50
"""Faults told one by one; of more there is a count."""
_LONGEST = 300
_STRUCK_FROM = 3
"""Values shorter than this are part of any text."""
_PIECES = 200

NO_WORDS = "is not valid"
"""Where others' words could quote too much to take it all out."""

Path = Sequence[str | int]

KINDS: dict[type, str] = {
    type(None): "null",
    bool: "a boolean",
    int: "an integer",
    float: "a number",
    str: "a string",
    list: "an array",
    dict: "an object",
}


def missing(path: Path) -> str:
    """A parameter that must be there."""
    return f"Missing required parameter: {spell(path)}"


def unknown(path: Path) -> str:
    """A parameter that nobody asked for."""
    return f"Unknown parameter: {spell(path)}"


def mistyped(path: Path, value: Any, *, expected: Iterable[str]) -> str:
    """A parameter of another type than the schema's."""
    kind: type = type(value)  # pyright: ignore[reportUnknownVariableType]
    given = KINDS.get(kind, "something else")
    wanted = " or ".join(dict.fromkeys(expected))
    return unfit(path, f"must be {wanted}, not {given}" if wanted != given else f"must be {wanted} of another form")


def unfit(path: Path, rule: str) -> str:
    """A parameter that breaks a rule of the schema."""
    where = f"Invalid parameter: {spell(path)}" if path else "Invalid arguments:"
    return f"{where} {cut(rule)}"


def spell(path: Path) -> str:
    """`filter.items[0].name`, with hidden characters shown."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{brief(part)}" if text else brief(part)
    return cut(text)


def invalid(faults: Iterable[str], *, more: int = 0) -> InvalidArguments:
    """The error for these faults and `more` that are not told."""
    told = list(dict.fromkeys(faults))
    left = more + max(0, len(told) - MOST)
    listed = tuple(told[:MOST]) + ((f"and {left} more faults",) if left else ())
    return InvalidArguments("; ".join(listed), faults=listed)


def strike(words: str, value: Any) -> str:
    """The words with every piece of the value taken out: others' messages like to quote what they were given."""
    pieces = _pieces(value)
    if len(pieces) > _PIECES:
        return NO_WORDS
    for piece in sorted(pieces, key=len, reverse=True):
        words = words.replace(piece, "…")
    return words


def cut(words: str) -> str:
    """Not longer than a few lines."""
    return cut_at(words, _LONGEST)


def _pieces(value: Any) -> set[str]:
    found: set[str] = set()
    pending: list[Any] = [value]
    while pending and len(found) <= _PIECES:
        item = pending.pop()
        if isinstance(item, dict):
            pending.extend([*item.keys(), *item.values()])  # pyright: ignore[reportUnknownArgumentType]
        elif isinstance(item, list):
            pending.extend(item)  # pyright: ignore[reportUnknownArgumentType]
        elif item is not None and not isinstance(item, bool):
            found |= {piece for piece in (str(item), repr(item).strip("'\"")) if len(piece) >= _STRUCK_FROM}
    return found
