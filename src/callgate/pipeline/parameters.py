"""Parameters: what to say to a caller who named some that a tool does not take. Asked only when a call is refused."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from callgate.model.shapes import MORE_PROPERTIES, as_mapping, as_sequence
from callgate.model.tool import Tool
from callgate.model.visible import brief
from callgate.registry.near import meant

_MOST_NAMED = 20
_MOST_GUESSED = 3


def advise(tool: Tool, given: Mapping[Any, Any]) -> str | None:
    """The parameters that were probably meant, and all there are; None where none that was given is unknown."""
    schema = tool.input_schema
    if schema.get("additionalProperties", True) is not False or MORE_PROPERTIES & schema.keys():
        return None
    known = as_mapping(schema.get("properties")) or {}
    try:
        names = [name for name in given if isinstance(name, str)]
    except Exception:  # noqa: BLE001 - arguments may be objects of anybody's class
        return None
    unknown = [name for name in names if name not in known]
    if not unknown:
        return None
    free = [name for name in known if name not in names]
    needed = as_sequence(schema.get("required")) or []
    return f"{_guesses(unknown, free)}The tool takes {_listed(known, needed)}. Correct the arguments and call again."


def _guesses(unknown: list[str], free: list[str]) -> str:
    told: list[str] = []
    for name in unknown[:_MOST_GUESSED]:
        found = meant(name, free)
        if found:
            free = [other for other in free if other != found]  # it is given once
            told.append(f"{brief(found)} instead of {brief(name)}")
    return f"Did you mean {', and '.join(told)}? " if told else ""


def _listed(known: Iterable[str], needed: list[Any]) -> str:
    """What must be given first, then the rest as it comes."""
    names = sorted(known, key=lambda name: name not in needed)
    told = [brief(name) + " (needed)" * (name in needed) for name in names[:_MOST_NAMED]]
    more = [f"and {len(names) - _MOST_NAMED} more"] if len(names) > _MOST_NAMED else []
    return ", ".join([*told, *more]) or "no arguments"
