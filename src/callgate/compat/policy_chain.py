"""The cascading policy under its former names. What a layer means, the policy says."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import cast

from callgate.model.layer import Layer, LayerKind
from callgate.model.tool import Tool
from callgate.policy.layers import resolve

AllTools = Iterable[Tool | str] | Mapping[str, Tool]
"""Tools, by themselves or by name. A bare name stands for a tool that declares nothing: it is in no group it could
profit from, and in every group it could be kept out by.
"""


@dataclass(frozen=True, slots=True)
class PolicyLayer:
    """One level of policy: `allow` intersects, `deny` removes, and nothing adds.

    Both hold tool names, globs, `group:…`, `category:…` or `source:…`. What cannot be read never widens.
    """

    name: str
    allow: frozenset[str] | None = None
    """None inherits; an empty set admits nothing."""
    deny: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        if self.allow is not None:
            object.__setattr__(self, "allow", _frozen(self.allow))
        object.__setattr__(self, "deny", _frozen(self.deny))

    def as_layer(self, kind: LayerKind = LayerKind.DELEGATION) -> Layer:
        """The same for the gate: for `Context(layers=…)`, or for a role or the global layer of its settings."""
        allow = None if self.allow is None else tuple(sorted(self.allow))
        return Layer(name=self.name, kind=kind, allow=allow, deny=tuple(sorted(self.deny)))


def resolve_policy_chain(layers: Iterable[PolicyLayer], all_tools: AllTools) -> frozenset[str]:
    """The names of the tools that every layer admits."""
    chain = [layer.as_layer() for layer in layers]
    return frozenset(tool.name for tool in resolve(chain, each_tool(all_tools)))


def each_tool(all_tools: AllTools) -> Iterator[Tool]:
    """The tools themselves, however they were given."""
    items: Iterable[Tool | str] = (
        cast("Mapping[str, Tool]", all_tools).values() if isinstance(all_tools, Mapping) else all_tools
    )
    for item in items:
        yield _undeclared(item) if isinstance(item, str) else item


def _undeclared(name: str) -> Tool:
    return Tool(name=name, description="", input_schema={}, handler=None, validator=dict, declared=False)


def _frozen(selectors: Iterable[str]) -> frozenset[str]:
    # A bare text is one selector: taken letter by letter, its `*` would let everything in.
    return frozenset((selectors,) if isinstance(selectors, str) else selectors)
