"""The policies of roles as a registry keeps them: global, then a role's own, or its flat permissions as a layer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from callgate.compat.permissions import ToolPermissions
from callgate.compat.policy_chain import PolicyLayer
from callgate.model.layer import Layer
from callgate.model.levels import Origin
from callgate.model.tool import Tool


class RolePolicies:
    """What was added for all roles and for single ones."""

    def __init__(self) -> None:
        self._global: list[PolicyLayer] = []
        self._roles: dict[str, list[PolicyLayer]] = {}
        self._permissions: dict[str, ToolPermissions] = {}
        self._made: dict[str, tuple[tuple[str, ...], Layer]] = {}

    def add_global(self, layer: PolicyLayer) -> None:
        """Narrow what every role may use."""
        self._global.append(layer)

    def add_role(self, role: str, layer: PolicyLayer) -> None:
        """Narrow what a role may use; its flat permissions no longer count."""
        self._roles.setdefault(role, []).append(layer)

    def set_permissions(self, role: str, permissions: ToolPermissions) -> None:
        """Say what a role may use, as flat permissions."""
        self._permissions[role] = permissions
        self._made.pop(role, None)

    def knows(self, role: str) -> bool:
        """Whether anything was said of a role."""
        return role in self._roles or role in self._permissions

    def layers(self, role: str, tools: Sequence[Tool]) -> tuple[Layer, ...]:
        """The layers of a role, outermost first. `tools` are all there are: permissions speak of their categories."""
        own = [layer.as_layer() for layer in self._roles.get(role, ())]
        if not own and role in self._permissions:
            own = [self._flat(role, tools)]
        return (*(layer.as_layer() for layer in self._global), *own)

    def _flat(self, role: str, tools: Sequence[Tool]) -> Layer:
        seen = tuple(tool.id for tool in tools)
        made = self._made.get(role)
        if made is None or made[0] != seen:
            permissions = self._permissions[role]
            # Whoever registers a tool here vouches for its category, also where it stands in a file.
            admitted = (each.name for each in tools if permissions.can_use_tool(replace(each, source=Origin.FUNCTION)))
            layer = PolicyLayer(f"permissions of {role}", frozenset(admitted), permissions.denied)
            made = self._made[role] = (seen, layer.as_layer())
        return made[1]
