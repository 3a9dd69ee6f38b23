"""How fast the work grows with the depth of a value, for schemas that contain themselves.

A schema that offers itself in two branches looks at the same value twice on every level: 2, 4, 8 and so on. Such a
schema is fine as long as values are shallow, so what is counted here becomes a limit on their depth.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, cast

from callgate.adapters.schema_walk import Places, Schema, subschemas

NO_LIMIT = 10_000
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_NOT_HERE = ("/$defs/", "/definitions/")
_SAME_VALUE = ("/anyOf/", "/oneOf/", "/allOf/", "/not", "/if", "/then", "/else", "/dependentSchemas/", "/dependencies/")
_MANY_NAMES = ("/patternProperties/", "/unevaluatedProperties", "/contains", "/unevaluatedItems")


def depth_limit(root: Schema, *, budget: int, trust_discriminators: bool = False) -> int:
    """How deep a value may be for the work to stay below a budget; `NO_LIMIT` when it grows no faster than the value.

    Args:
        root: The schema.
        budget: How many looks at one part of a value are bearable.
        trust_discriminators: Whether the validator goes straight to the branch that a discriminator names.
    """
    graph = _Graph(root, trust_discriminators=trust_discriminators)
    width = max((graph.width(node) for node in graph.nodes), default=1)
    return NO_LIMIT if width <= 1 else max(1, int(math.log(budget) / math.log(width) + 1e-9))


def depth_of(value: Any) -> int:
    """How many levels of arrays and objects a value has."""
    depth = 0
    level = _containers([value])
    while level:
        depth += 1
        level = _containers([inner for part in level for inner in _inside(part)])
    return depth


def _containers(values: list[Any]) -> list[Any]:
    return [value for value in values if isinstance(value, (dict, list))]


def _inside(part: Any) -> list[Any]:
    return list(cast("Schema", part).values()) if isinstance(part, dict) else cast("list[Any]", part)


class _Graph:
    """Schemas as nodes, and which of them can be reached again from themselves."""

    def __init__(self, root: Schema, *, trust_discriminators: bool) -> None:
        self._places = Places(root)
        self._trust = trust_discriminators
        self.nodes: dict[int, Schema] = {}
        self._edges: dict[int, list[tuple[str, int]]] = {}
        pending = [root]
        while pending:
            node = pending.pop()
            if id(node) not in self.nodes:
                self.nodes[id(node)] = node
                targets = list(self._targets(node))
                self._edges[id(node)] = [(step, id(target)) for step, target in targets]
                pending += [target for _, target in targets]
        self._loops = _loops(self._edges)

    def width(self, node: int) -> int:
        """How many times one value is looked at again on the way back to this node."""
        back = [step for step, target in self._edges[node] if self._loops[target] == self._loops[node]]
        same = [step for step in back if step in _REFERENCES or step.startswith(_SAME_VALUE)]
        if self._trust and "discriminator" in self.nodes[node]:
            same = same[:1]
        named = [step for step in back if step.startswith(_MANY_NAMES)]
        return max(1, len(same)) * max(1, len(named) + (len(back) > len(same) + len(named)))

    def _targets(self, node: Schema) -> Iterator[tuple[str, Schema]]:
        for step, part in subschemas(node):
            if not step.startswith(_NOT_HERE):
                yield step, part
        for key in _REFERENCES:
            found = self._places.find(node.get(key))
            if found is not None:
                yield key, found[1]


def _loops(edges: dict[int, list[tuple[str, int]]]) -> dict[int, int]:
    """A number per node, the same for nodes that reach each other (Kosaraju's two passes)."""
    order: list[int] = []
    seen: set[int] = set()
    for start in edges:
        _visit(start, edges, seen=seen, order=order)
    backwards: dict[int, list[tuple[str, int]]] = {node: [] for node in edges}
    for node, targets in edges.items():
        for step, target in targets:
            backwards[target].append((step, node))
    numbers: dict[int, int] = {}
    seen = set()
    for start in reversed(order):
        group: list[int] = []
        _visit(start, backwards, seen=seen, order=group)
        numbers.update(dict.fromkeys(group, start))
    return numbers


def _visit(start: int, edges: dict[int, list[tuple[str, int]]], *, seen: set[int], order: list[int]) -> None:
    """Everything that can be reached and was not seen yet, each after what it leads to."""
    if start in seen:
        return
    seen.add(start)
    stack = [(start, iter(edges[start]))]
    while stack:
        node, rest = stack[-1]
        following = next((target for _, target in rest if target not in seen), None)
        if following is None:
            order.append(node)
            stack.pop()
        else:
            seen.add(following)
            stack.append((following, iter(edges[following])))
