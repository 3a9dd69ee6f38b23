"""Projection: a pure fold of events into entries. Knows no store."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from callgate.model.event import Event

Entry = dict[str, Any]
"""Plain JSON values."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Projection:
    """Which events concern it, which entry each belongs to, and what it makes of that entry."""

    name: str
    types: frozenset[str]
    """The events it is made of."""
    key: Callable[[Event], str | None]
    """The entry an event belongs to; None if it cannot be said."""
    apply: Callable[[Entry | None, Event], Entry]
    """The entry after the event. Pure: the entry it is given stays as it was."""
    version: int = 1
    """Raised when `apply` changes, so that what an older one made is made again."""


def said(event: Event) -> dict[str, Any]:
    """The payload; empty once erased."""
    payload: Any = event.payload
    return payload if isinstance(payload, dict) else {}  # pyright: ignore[reportUnknownVariableType]


def kept(payload: dict[str, Any], *names: str) -> Entry:
    """These fields of a payload, as far as they are there."""
    return {name: payload[name] for name in names if payload.get(name) is not None}


def mapping(value: Any) -> dict[str, Any]:
    """A mapping inside a payload; empty where there is none."""
    return value if isinstance(value, dict) else {}  # pyright: ignore[reportUnknownVariableType]
