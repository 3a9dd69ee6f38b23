"""Pages: where the references of a schema lead, and what else its document holds. Nothing outside is looked at."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, cast
from urllib.parse import unquote

CHOICES = ("allOf", "anyOf", "oneOf")
REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_FOLLOWED = frozenset({"2020-12", "2019-09", "draft-07", "draft-06"})
"""The drafts whose keywords are known here."""


class Pages:
    """One document, which is a schema with everything it refers to."""

    def __init__(self, root: dict[str, Any]) -> None:
        self._root = root
        named: Any = root.get("$schema", "2020-12")
        draft = next((known for known in _FOLLOWED if isinstance(named, str) and known in named), None)
        self.known = draft is not None
        """Whether the draft it is written in is."""
        self.siblings = draft in {"2020-12", "2019-09"}
        """Whether what stands beside a reference counts."""
        self.prefixes = draft == "2020-12"
        """Whether `prefixItems` does."""

    def find(self, key: str, reference: Any) -> Any:
        """The schema that a reference leads to; None where that cannot be told for certain.

        Anchors, and names of documents in the document, are left to who validates: see `parts`.
        """
        # References inside of an embedded document count from there.
        found = None if key != "$ref" or self._embeds else self._at(reference)
        return None if id(found) in self._circles else found

    def parts(self) -> list[dict[str, Any]]:
        """Every object in the document, whatever it is for."""
        return list(_objects(self._root))

    def _at(self, reference: Any) -> Any:
        if not isinstance(reference, str) or reference[:2] not in {"", "#", "#/"}:
            return None
        node: Any = self._root
        for step in unquote(reference).split("/")[1:]:
            node = _step(node, step.replace("~1", "/").replace("~0", "~"))
        return cast("Any", node) if isinstance(node, (dict, bool)) else None

    @cached_property
    def _circles(self) -> set[int]:
        """The parts that hold for a value if they hold for it: they lead back to themselves, and so say nothing."""
        leads = {id(part): {id(to) for to in self._beside(part)} for part in self.parts()}
        from_: dict[int, list[int]] = {}
        for part, targets in leads.items():
            for target in targets:
                from_.setdefault(target, []).append(part)
        ends = [part for part, targets in leads.items() if not targets]
        while ends:
            end = ends.pop()
            del leads[end]
            for part in from_.get(end, ()):
                leads[part].discard(end)
                ends.extend([] if leads[part] else [part])
        return set(leads)

    def _beside(self, part: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """What holds for the same value as this part, by its choices or its reference."""
        beside = (self._at(part.get("$ref")), *(each for key in CHOICES for each in listed(part.get(key))))
        return (cast("dict[str, Any]", to) for to in beside if isinstance(to, dict))

    @cached_property
    def _embeds(self) -> bool:
        return any(part is not self._root and isinstance(part.get("$id"), str) for part in self.parts())

    def formats(self) -> set[str]:
        """Every format in the document."""
        return {part["format"].lower() for part in self.parts() if isinstance(part.get("format"), str)}


def mapping(value: Any) -> Mapping[str, Any]:
    """An object, or an empty one."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def listed(value: Any) -> list[Any]:
    """A list, or an empty one."""
    return cast("list[Any]", value) if isinstance(value, list) else []


def _objects(root: Any) -> Iterator[dict[str, Any]]:
    pending: list[Any] = [root]
    while pending:
        value = pending.pop()
        pending.extend(listed(value))
        pending.extend(mapping(value).values())
        if isinstance(value, dict):
            yield cast("dict[str, Any]", value)


def _step(node: Any, step: str) -> Any:
    items = listed(node)
    if items and step.isdecimal() and int(step) < len(items):
        return items[int(step)]
    return mapping(node).get(step)
