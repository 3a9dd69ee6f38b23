"""Trust: what changed between two definitions of a tool, and which way. Pure; whether it matters is for the pins."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from callgate.model.levels import Effect, Risk
from callgate.model.tool import LOOSENING, TIGHTENING, Tool, stated
from callgate.model.visible import brief

Declaration = Mapping[str, Any]
"""What a tool declared, as JSON values: enough to say later what became looser, and to show the difference."""

_GUARDS = frozenset({"check", "resources", "redact", "targets", "broadcast", "blast_radius", "cost"})
"""Hooks that hold a call back or keep something out of the record: without one there is less protection."""
_TEXTS = (
    "description",
    "input_schema",
    "output_schema",
    "connector",
    "source",
    "category",
    "tags",
    "capabilities",
    "timeout",
    "examples",
    "code",
    "claims",
)
"""What is neither looser nor stricter by itself."""


@dataclass(frozen=True, slots=True)
class Change:
    """What became looser, what stricter, and what is merely different; each item one short sentence."""

    loosened: tuple[str, ...] = ()
    tightened: tuple[str, ...] = ()
    other: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.loosened or self.tightened or self.other)

    def __str__(self) -> str:
        parts = (("looser", self.loosened), ("stricter", self.tightened), ("different", self.other))
        return "; ".join(f"{word}: {', '.join(items)}" for word, items in parts if items) or "nothing changed"


def declaration(tool: Tool) -> dict[str, Any]:
    """What is remembered of a tool besides its definition hash."""
    flags = {flag: getattr(tool, flag) for flag in (*TIGHTENING, *LOOSENING)}
    return {**stated(tool), **flags, "claims": dict(tool.claims)}


def compare_declarations(old: Declaration, new: Declaration) -> Change:
    """What changed between two declarations whose definition hashes differ; never empty."""
    looser: list[str] = []
    stricter: list[str] = []
    for what, loosens in _judged(old, new):
        (looser if loosens else stricter).append(what)
    other = [f"{field.replace('_', ' ')} changed" for field in _TEXTS if old[field] != new[field]]
    gone, come = _difference(set(old["hooks"]) - _GUARDS, set(new["hooks"]) - _GUARDS)
    other += [f"{brief(name)} dropped" for name in gone] + [f"{brief(name)} added" for name in come]
    if not (looser or stricter or other):
        other = ["definition changed"]
    return Change(tuple(looser), tuple(stricter), tuple(other))


def _judged(old: Declaration, new: Declaration) -> Iterator[tuple[str, bool]]:
    """Each difference that has a direction, and whether it loosens."""
    yield from _flags(old, new)
    yield from _levels(old, new)
    yield from _effects(set(old["effects"]), set(new["effects"]))
    yield from _sets(set(old["scopes"]), set(new["scopes"]), what="scope")
    yield from _sets(set(old["hooks"]) & _GUARDS, set(new["hooks"]) & _GUARDS, what="hook")
    for what, tightens in _sets(set(old["callers"]), set(new["callers"]), what="caller"):
        yield what, not tightens


def _flags(old: Declaration, new: Declaration) -> Iterator[tuple[str, bool]]:
    for flag in (*TIGHTENING, *LOOSENING):
        if bool(old[flag]) != bool(new[flag]):
            yield f"{flag} {'set' if new[flag] else 'dropped'}", bool(new[flag]) == (flag in LOOSENING)


def _levels(old: Declaration, new: Declaration) -> Iterator[tuple[str, bool]]:
    if old["risk"] != new["risk"]:
        yield f"risk from {old['risk']} to {new['risk']}", _risk(new["risk"]) < _risk(old["risk"])
    if old["isolation"] != new["isolation"]:
        yield f"isolation now {brief(str(new['isolation']))}", new["isolation"] != "process"
    if old["horizon"] != new["horizon"]:
        yield f"horizon from {old['horizon']} to {new['horizon']} s", new["horizon"] < old["horizon"]


def _effects(old: set[str], new: set[str]) -> Iterator[tuple[str, bool]]:
    """An effect that is no longer declared loosens; `read_only` is the one whose coming does."""
    for effect in sorted(old ^ new):
        come = effect in new
        yield f"effect {brief(effect)} {'added' if come else 'dropped'}", come == (effect == Effect.READ_ONLY)


def _sets(old: set[str], new: set[str], *, what: str) -> Iterator[tuple[str, bool]]:
    gone, come = _difference(old, new)
    yield from ((f"{what} {brief(item)} dropped", True) for item in gone)
    yield from ((f"{what} {brief(item)} added", False) for item in come)


def _difference(old: set[str], new: set[str]) -> tuple[list[str], list[str]]:
    return sorted(old - new), sorted(new - old)


def _risk(label: str) -> int:
    """A level nobody knows counts as above all: leaving it loosens."""
    member = Risk.__members__.get(label.upper())
    return Risk.CRITICAL + 1 if member is None else member


def is_declaration(value: Any) -> bool:
    """Whether a value read back from somewhere has the shape that `declaration` makes."""
    if not isinstance(value, dict):
        return False
    body = cast("dict[str, Any]", value)
    return (
        all(key in body for key in (*_TEXTS, *TIGHTENING, *LOOSENING))
        and all(_are_words(body.get(key)) for key in ("source", "scopes", "effects", "callers", "hooks"))
        and all(isinstance(body.get(key), str) for key in ("risk", "isolation"))
        and isinstance(body.get("horizon"), (int, float))
        and bool(body["source"])
    )


def _are_words(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in cast("list[Any]", value))
