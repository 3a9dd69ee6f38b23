"""Defaults of a JSON Schema, written into arguments that leave them out: at the top and in nested objects.

Only what must hold is followed: properties, items, local references and allOf. A choice (anyOf, oneOf, if) gives none,
because which branch is meant is not known before. A default that does not fit its own schema is not used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from callgate.adapters.schema_walk import Places, Schema, walk
from callgate.model.canonical import NotCanonical, dumps, loads

Fits = Callable[[str, Any], bool]
"""(pointer of a schema, value) -> whether the value fits it."""


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


def with_defaults(schema: Mapping[str, Any], values: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema with what its function takes for a property that is not given, where it says nothing of it itself.

    A default that nobody sees is one that nobody judges. What JSON cannot say stays the function's own.
    """
    properties = schema.get("properties")
    if not isinstance(properties, Mapping):
        return schema
    said: dict[str, Any] = {
        name: {**cast("Mapping[str, Any]", part), "default": values[name]}
        for name, part in cast("Mapping[str, Any]", properties).items()
        if name in values and isinstance(part, Mapping) and "default" not in part and _is_json(values[name])
    }
    return {**schema, "properties": {**properties, **said}} if said else schema


def _is_json(value: Any) -> bool:
    try:
        return loads(dumps(value)) == value
    except NotCanonical:
        return False


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
        for place, part in self._holding(pointer, schema):
            self._plan_properties(plan, place, part=part)
            items = part.get("items")
            if isinstance(items, dict):
                plan.items.append(self.plan(f"{place}/items", cast("Schema", items)))
        return plan

    def _plan_properties(self, plan: Plan, pointer: str, *, part: Schema) -> None:
        properties = part.get("properties")
        for name, raw in (cast("Schema", properties) if isinstance(properties, dict) else {}).items():
            if not isinstance(raw, dict):
                continue
            inner = cast("Schema", raw)
            place = f"{pointer}/properties/{name.replace('~', '~0').replace('/', '~1')}"
            if "default" in inner and self._fits(place, inner["default"]):
                plan.defaults.setdefault(name, dumps(inner["default"]))
            plan.inside.setdefault(name, []).append(self.plan(place, inner))

    def _holding(self, pointer: str, schema: Schema) -> list[tuple[str, Schema]]:
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
