"""The surfaces of the systems Callgate unifies, as thin translations over one gate. Knows no rule of its own.

Everything is loaded when it is first asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from callgate.compat.executor import ToolExecutor
    from callgate.compat.permissions import ToolPermissions, permissions_to_policy
    from callgate.compat.policy_chain import PolicyLayer, resolve_policy_chain
    from callgate.compat.tool_output import ToolOutput

_PLACES = {
    "PolicyLayer": "callgate.compat.policy_chain",
    "ToolExecutor": "callgate.compat.executor",
    "ToolOutput": "callgate.compat.tool_output",
    "ToolPermissions": "callgate.compat.permissions",
    "permissions_to_policy": "callgate.compat.permissions",
    "resolve_policy_chain": "callgate.compat.policy_chain",
}

__all__ = [
    "PolicyLayer",
    "ToolExecutor",
    "ToolOutput",
    "ToolPermissions",
    "permissions_to_policy",
    "resolve_policy_chain",
]


def __getattr__(name: str) -> Any:
    place = _PLACES.get(name)
    if place is None:
        message = f"module 'callgate.compat' has no attribute {name!r}"
        raise AttributeError(message)
    found = getattr(import_module(place), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
