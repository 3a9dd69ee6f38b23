"""Reader: goes through a schema once, and notes the names in it, their formats, and where it takes anything.

What a schema does not rule out it admits, and where it cannot be followed it admits everything. Each part that holds
for a value says what it lets through; one that only narrows another (a branch beside a `type`, say) need not.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any, NamedTuple

from callgate.policy.schema_pages import CHOICES, REFERENCES, Pages, listed, mapping

UNSAID = ""
"""Stands among the formats of a name that is somewhere a plain text, or anything."""

_NARROWING = ("if", "then", "else", "propertyNames")
_NARROWING_EACH = ("dependentSchemas", "dependencies")
_IN_PLACE = frozenset({*REFERENCES, *CHOICES, *_NARROWING, *_NARROWING_EACH})
_VALUES = ("additionalProperties", "unevaluatedProperties")
_ITEMS = ("items", "contains", "additionalItems", "unevaluatedItems")
_ITEMS_EACH = ("items", "prefixItems")

Book = dict[str, set[str]]
"""By name: formats."""


class _Part(NamedTuple):
    node: Any
    name: str
    book: Book
    bound: bool = False
    """Whether another part that holds for the same value says what that may be at all."""


class Reader:
    """What was found in one schema."""

    def __init__(self, root: dict[str, Any]) -> None:
        self._pages = Pages(root)
        self.names: Book = {}
        self.mapped: Book = {}
        """By name of a mapping: the formats of its values."""
        self.open = False
        self._loose: list[tuple[str, frozenset[str]]] = []
        self._lost: list[set[str]] = []
        # Arguments are an object, also where their schema does not say it.
        node = root if "type" in root or self._delegates(root) else {**root, "type": "object"}
        self._read_all([_Part(node, "", self.names)])
        if self._lost or not self._pages.known:
            self._read_everything()

    def loose(self) -> list[frozenset[str]]:
        """Of each object that takes texts under any name: the names it has something to say about."""
        return [names for name, names in self._loose if UNSAID in self.mapped[name]]

    def _read_all(self, pending: list[_Part]) -> None:
        seen: set[tuple[int, str, int, bool]] = set()
        while pending:
            part = pending.pop()
            part = part._replace(node={}) if part.node is True else part
            mark = (id(part.node), part.name, id(part.book), part.bound)
            if part.node == {} or (isinstance(part.node, dict) and mark not in seen):
                seen.add(mark)
                pending.extend(self._read(part))

    def _read_everything(self) -> None:
        """Some reference was not followed: any part of the document may be there."""
        everything = self._pages.formats() | {UNSAID}
        for formats in tuple(self._lost):
            formats.update(everything)
        self._read_all([_Part(node, "", self.names) for node in self._pages.parts()])
        self._admit_anything("")

    def _read(self, part: _Part) -> Iterator[_Part]:
        node: dict[str, Any] = part.node
        formats = part.book.setdefault(part.name, set())
        given = node.get("format")
        if isinstance(given, str):
            formats.add(given.lower())
        delegates = self._delegates(node)
        if not (part.bound or delegates):
            self._note_admitted(part, formats, formatted=isinstance(given, str))
        yield from self._in_place(part, formats, bound=part.bound or not delegates)
        yield from self._inside(part)

    def _delegates(self, node: dict[str, Any]) -> bool:
        """Whether other parts say what a value may be, and this one does not."""
        if "$ref" in node and not self._pages.siblings:
            return True
        return "type" not in node and any(node.get(key) for key in (*CHOICES, *REFERENCES))

    def _note_admitted(self, part: _Part, formats: set[str], *, formatted: bool) -> None:
        node: dict[str, Any] = part.node
        if "type" not in node and ("enum" in node or "const" in node):
            fixed = [*listed(node.get("enum")), node.get("const")]
            if any(isinstance(value, (dict, list)) for value in fixed):
                formats.add(UNSAID)
                self._admit_anything(part.name)
            return
        if _admits(node, "string") and not formatted:
            formats.add(UNSAID)
        if _admits(node, "array") and not self._says_every_item(node):
            formats.add(UNSAID)
            self._admit_anything(part.name)
        if _admits(node, "object"):
            self._note_names(part)

    def _note_names(self, part: _Part) -> None:
        node: dict[str, Any] = part.node
        others = node.get("additionalProperties", True)
        if self._pages.siblings and _IN_PLACE.isdisjoint(node):
            # Beside other parts, which may have evaluated anything, it would close nothing for certain.
            others = others and node.get("unevaluatedProperties", others)
        if others is False and "patternProperties" not in node:
            return
        self._admit_anything(part.name, names=frozenset(mapping(node.get("properties"))), told=others is not True)

    def _admit_anything(self, name: str, *, names: frozenset[str] = frozenset(), told: bool = False) -> None:
        """Note that under this name there may be an object with other names than these; `told` is what is in it."""
        self.open = True
        self._loose.append((name, names))
        self.mapped.setdefault(name, set()).update(() if told else (UNSAID,))

    def _says_every_item(self, node: dict[str, Any]) -> bool:
        items = node.get("items")
        if isinstance(items, (dict, bool)):
            return True
        if isinstance(items, list) and "additionalItems" in node:
            return True
        first = listed(node.get("prefixItems")) if self._pages.prefixes else listed(items)
        most = node.get("maxItems")
        return isinstance(most, int) and most <= len(first)

    def _in_place(self, part: _Part, formats: set[str], *, bound: bool) -> Iterator[_Part]:
        """What holds for the same value."""
        node: dict[str, Any] = part.node
        for key in REFERENCES:
            if key in node:
                target = self._pages.find(key, node[key])
                self._lost.extend([formats] if target is None else [])
                yield part._replace(node=target, bound=bound)
        yield from (part._replace(node=sub, bound=bound) for key in CHOICES for sub in listed(node.get(key)))
        yield from (part._replace(node=node.get(key), bound=True) for key in _NARROWING)
        for sub in chain.from_iterable(mapping(node.get(key)).values() for key in _NARROWING_EACH):
            yield part._replace(node=sub, bound=True)

    def _inside(self, part: _Part) -> Iterator[_Part]:
        """What holds for values inside of it."""
        node, name, book = part.node, part.name, part.book
        yield from (_Part(sub, inner, self.names) for inner, sub in mapping(node.get("properties")).items())
        yield from (_Part(sub, name, self.mapped) for sub in mapping(node.get("patternProperties")).values())
        yield from (_Part(node.get(key), name, self.mapped) for key in _VALUES)
        yield from (_Part(node.get(key), name, book) for key in _ITEMS)
        yield from (_Part(sub, name, book) for key in _ITEMS_EACH for sub in listed(node.get(key)))


def _admits(node: dict[str, Any], kind: str) -> bool:
    given = node.get("type")
    return given is None or given == kind or kind in listed(given)
