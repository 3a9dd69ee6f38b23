"""The policies of roles as a registry keeps them: global, then a role's own, or its flat permissions as a layer.

What a file says of its tools' categories satisfies no layer of a gate. Whoever loads the file into a registry vouches
for it, so that here a layer's groups and categories are worked out to names before the gate judges by them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from operator import is_

from callgate.compat.permissions import ToolPermissions
from callgate.compat.policy_chain import PolicyLayer
from callgate.model.layer import Layer
from callgate.model.levels import Origin
from callgate.model.tool import Tool
from callgate.policy.layers import compile_layer


class RolePolicies:
    """What was added for all roles and for single ones."""

    def __init__(self) -> None:
        self._global: list[PolicyLayer] = []
        self._roles: dict[str, list[PolicyLayer]] = {}
        self._permissions: dict[str, ToolPermissions] = {}
        self._vouched: set[tuple[str, Origin]] = set()
        self._made: dict[str, tuple[tuple[Tool, ...], tuple[Layer, ...]]] = {}

    def add_global(self, layer: PolicyLayer) -> None:
        """Narrow what every role may use."""
        self._global.append(layer)
        self._made.clear()

    def add_role(self, role: str, layer: PolicyLayer) -> None:
        """Narrow what a role may use; its flat permissions no longer count."""
        self._roles.setdefault(role, []).append(layer)
        self._made.clear()

    def set_permissions(self, role: str, permissions: ToolPermissions) -> None:
        """Say what a role may use, as flat permissions."""
        self._permissions[role] = permissions
        self._made.clear()

    def vouch(self, tools: Iterable[Tool]) -> None:
        """Take the word of these for their categories."""
        self._vouched.update((tool.name, tool.source) for tool in tools)
        self._made.clear()

    def knows(self, role: str) -> bool:
        """Whether anything was said of a role."""
        return role in self._roles or role in self._permissions

    def layers(self, role: str, tools: Sequence[Tool]) -> tuple[Layer, ...]:
        """The layers of a role, outermost first. `tools` are all there are."""
        seen = tuple(tools)
        made = self._made.get(role)
        # By the tools themselves: one that was updated keeps its id, and may do something else.
        if made is None or len(made[0]) != len(seen) or not all(map(is_, made[0], seen)):
            made = self._made[role] = (seen, tuple(self._make(role, tools)))
        return made[1]

    def worked_out(self, layer: PolicyLayer, tools: Iterable[Tool]) -> Layer:
        """A layer that stands beside these, for the gate."""
        return _worked_out(layer, self._believed(tools))

    def _make(self, role: str, tools: Sequence[Tool]) -> Iterable[Layer]:
        believed = self._believed(tools)
        for layer in (*self._global, *self._roles.get(role, ())):
            yield _worked_out(layer, believed)
        permissions = self._permissions.get(role)
        if role not in self._roles and permissions is not None:
            admitted = frozenset(each.name for each in believed if permissions.can_use_tool(each))
            yield PolicyLayer(f"permissions of {role}", admitted, permissions.denied).as_layer()

    def _believed(self, tools: Iterable[Tool]) -> list[Tool]:
        """The tools, as our own where somebody vouched for them."""
        return [
            replace(tool, source=Origin.FUNCTION) if (tool.name, tool.source) in self._vouched else tool
            for tool in tools
        ]


def _worked_out(layer: PolicyLayer, tools: Iterable[Tool]) -> Layer:
    if layer.allow is None:
        return layer.as_layer()
    allowing = compile_layer(PolicyLayer(layer.name, layer.allow).as_layer())
    names = frozenset(each.name for each in tools if allowing.judge(each).verdict is None)
    return PolicyLayer(layer.name, names, layer.deny).as_layer()
