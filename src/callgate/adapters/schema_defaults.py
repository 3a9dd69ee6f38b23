"""Defaults of a JSON Schema, written into arguments that leave them out: at the top and in nested objects.

Only what must hold is followed: properties, items, local references and allOf. A choice (anyOf, oneOf, if) gives none,
because which branch is meant is not known before. A default that does not fit its own schema is not used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from callgate.adapters.schema_walk import Places, Schema, walk
from callgate.model.canonical import dumps, loads

Fits = Callable[[str, Any], bool]
"""(pointer of a schema, value) -> whether the value fits it."""
Matches = Callable[[str, str], bool]
"""(pattern, name of a property) -> whether the schemas of the pattern hold for it."""

_CHOICES = frozenset({"anyOf", "oneOf", "if", "dependentSchemas", "$dynamicRef"})


@dataclass(slots=True)
class Plan:
    """What to fill in for one schema."""

    defaults: dict[str, bytes] = field(default_factory=dict[str, bytes])
    inside: dict[str, list[Plan]] = field(default_factory=dict[str, "list[Plan]"])
    items: list[Plan] = field(default_factory=list["Plan"])

    def fill(self, value: Any) -> None:
        """Write defaults into the value, which is changed."""
        if isinstance(value, dict):
            self._fill_object(cast("dict[str, Any]", value))
        elif isinstance(value, list):
            for item in cast("list[Any]", value):
                for plan in self.items:
                    plan.fill(item)

    def _fill_object(self, value: dict[str, Any]) -> None:
        for name, text in self.defaults.items():
            if name not in value:
                value[name] = loads(text)
        for name, plans in self.inside.items():
            for plan in plans if name in value else ():
                plan.fill(value[name])


def admit_defaults(root: Schema, values: Mapping[str, Any], *, fits: Fits, matches: Matches) -> dict[str, bytes]:
    """What its function takes for properties that are not given, as JSON text: what may be sent under that name alone.

    A default that nobody sees is one that nobody judges. A name that the schema has no room for stays the function's.
    """
    parts = _Planner(root, fits).holding("", root) if values else []
    # What a choice names may be sent: only without one is it known that nothing else may.
    closed = any(part.get("unevaluatedProperties") is False for _, part in parts)
    closed = closed and not any(_CHOICES & part.keys() for _, part in parts)

    def admits(name: str, value: Any) -> bool:
        asked = [(place + step, held) for place, part in parts for step, held in _held_to(part, name, matches=matches)]
        has_room = bool(asked) or not closed
        return has_room and all(held if isinstance(held, bool) else fits(pointer, value) for pointer, held in asked)

    return {name: dumps(value) for name, value in values.items() if admits(name, value)}


def show_defaults(root: Schema, defaults: Mapping[str, bytes]) -> None:
    """Write them into the schema, where it says nothing of them itself."""
    for name, part in _named(root, "properties").items():
        if name in defaults and isinstance(part, dict):
            cast("Schema", part).setdefault("default", loads(defaults[name]))


def _held_to(part: Schema, name: str, *, matches: Matches) -> list[tuple[str, Any]]:
    """All that a part of a schema holds a property to, with pointers from there; none where it says nothing of it."""
    properties, patterns = _named(part, "properties"), _named(part, "patternProperties")
    held = [(f"/properties/{_escape(name)}", properties[name])] if name in properties else []
    held += [(f"/patternProperties/{_escape(each)}", patterns[each]) for each in patterns if matches(each, name)]
    others = [("/additionalProperties", part["additionalProperties"])] if "additionalProperties" in part else []
    return held or others


def _named(part: Schema, key: str) -> Schema:
    found = part.get(key)
    return cast("Schema", found) if isinstance(found, dict) else {}


def _escape(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")


def plan_defaults(root: Schema, fits: Fits) -> Plan | None:
    """How to fill in the defaults of a schema; None when it has none."""
    if not any("default" in part for _, part in walk(root)):
        return None
    if any(pointer and "$id" in part for pointer, part in walk(root)):
        # References inside an embedded document count from there; rather no default than another's.
        return None
    return _Planner(root, fits).plan("", root)


class _Planner:
    """Makes one plan per schema, so that a schema that contains itself ends."""

    def __init__(self, root: Schema, fits: Fits) -> None:
        self._places = Places(root)
        self._fits = fits
        self._plans: dict[str, Plan] = {}

    def plan(self, pointer: str, schema: Schema) -> Plan:
        if pointer in self._plans:
            return self._plans[pointer]
        plan = self._plans[pointer] = Plan()
        for place, part in self.holding(pointer, schema):
            self._plan_properties(plan, place, part=part)
            items = part.get("items")
            if isinstance(items, dict):
                plan.items.append(self.plan(f"{place}/items", cast("Schema", items)))
        return plan

    def _plan_properties(self, plan: Plan, pointer: str, *, part: Schema) -> None:
        for name, raw in _named(part, "properties").items():
            if not isinstance(raw, dict):
                continue
            inner = cast("Schema", raw)
            place = f"{pointer}/properties/{_escape(name)}"
            if "default" in inner and self._fits(place, inner["default"]):
                plan.defaults.setdefault(name, dumps(inner["default"]))
            plan.inside.setdefault(name, []).append(self.plan(place, inner))

    def holding(self, pointer: str, schema: Schema) -> list[tuple[str, Schema]]:
        """The schema and all that hold for the same value whatever it is: references and allOf."""
        found: dict[str, Schema] = {}
        pending = [(pointer, schema)]
        while pending:
            place, part = pending.pop()
            if place in found:
                continue
            found[place] = part
            target = self._places.find(part.get("$ref"))
            pending += [target] if target else []
            for index, each in enumerate(cast("list[Any]", part.get("allOf") or [])):
                pending += [(f"{place}/allOf/{index}", cast("Schema", each))] if isinstance(each, dict) else []
        return list(found.items())
