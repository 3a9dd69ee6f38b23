"""Words: what people write where a level, or several texts, are meant. It is read, or refused where it is written."""

from __future__ import annotations

import enum
from typing import Any, TypeVar

Member = TypeVar("Member", bound=enum.Enum)
Kind = TypeVar("Kind")


def member(kind: type[Member], given: Any, *, name: str) -> Member:
    """The member that is given, or whose word is.

    Raises:
        ValueError: It is neither; the message lists the words.
    """
    if type(given) is kind:
        return given
    found = kind.__members__.get(given.upper()) if isinstance(given, str) else None
    if found is None:
        message = f"{name} must be one of {', '.join(str(each) for each in kind)}, not {given!r}"
        raise ValueError(message)
    return found


def texts(given: Any, *, name: str) -> tuple[str, ...]:
    """Several texts, and not one: of that, every letter would count.

    Raises:
        ValueError: It is something else.
    """
    found = None if isinstance(given, str) else _all(given, str)
    if found is None:
        message = f'{name} must be several texts, as ["this"], and not {given!r}'
        raise ValueError(message)
    return found


def several(given: Any, kind: type[Kind], *, name: str) -> tuple[Kind, ...]:
    """Several of a kind: those that are given now, whatever becomes of the list that they came in.

    Raises:
        ValueError: It is something else.
    """
    found = _all(given, kind)
    if found is None:
        message = f"{name} must be several {name}, not {given!r}"
        raise ValueError(message)
    return found


def _all(given: Any, kind: type[Kind]) -> tuple[Kind, ...] | None:
    try:
        found = tuple(given)
    except TypeError:
        return None
    return found if all(isinstance(each, kind) for each in found) else None
