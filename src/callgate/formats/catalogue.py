"""A compact catalogue: one line per tool, for a prompt that has no room for schemas. Pure text, and no provider's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from callgate.model.visible import one_line

_LONGEST = 120


class Entry(NamedTuple):
    """One tool."""

    name: str
    description: str
    schema: Mapping[str, Any]
    """A plain object: `properties`, and perhaps `required`."""


def catalogue(entries: Iterable[Entry]) -> str:
    """A line per tool, by name, as `schedule.create(title*, when?) - Put something into the calendar.` is one.

    A parameter with `*` must be given, one with `?` may be left out.
    """
    return "\n".join(_line(entry) for entry in sorted(entries, key=lambda entry: entry.name))


def namespaces(names: Iterable[str]) -> tuple[str, ...]:
    """What stands before the dot of these names, each once, in order."""
    return tuple(sorted({name.partition(".")[0] for name in names if "." in name}))


def _line(entry: Entry) -> str:
    needed = entry.schema.get("required", ())
    marked = (f"{one_line(name)}{'*' if name in needed else '?'}" for name in entry.schema["properties"])
    head = f"{entry.name}({', '.join(marked)})"
    words = one_line(entry.description.strip().partition("\n")[0])
    short = words if len(words) <= _LONGEST else f"{words[:_LONGEST]}…"
    return f"{head} - {short}" if short else head
