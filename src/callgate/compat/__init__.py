"""The surfaces of the systems Callgate unifies, as thin translations over one gate. Knows no rule of its own.

Everything is loaded when it is first asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from callgate.adapters.base_tool import ToolCallContext
    from callgate.compat.atomic_tool import (
        AtomicTool,
        DeterminismClass,
        SideEffectClass,
        ToolContext,
        ToolPermission,
        ToolSource,
    )
    from callgate.compat.executor import ToolExecutor
    from callgate.compat.permissions import ToolPermissions, permissions_to_policy
    from callgate.compat.plugin_loader import ToolPluginLoader
    from callgate.compat.policy_chain import PolicyLayer, resolve_policy_chain
    from callgate.compat.registered_tool import ProviderType, RegisteredTool, ToolConfig, ToolHealth
    from callgate.compat.skill import Skill, SkillRegistry
    from callgate.compat.tool_output import ToolOutput
    from callgate.compat.tool_pool import assemble_tool_pool, to_anthropic_tools, to_openai_tools
    from callgate.compat.tool_registry import ToolRegistry
    from callgate.errors import SkillNotFoundError

_PLACES = {
    "AtomicTool": "callgate.compat.atomic_tool",
    "DeterminismClass": "callgate.compat.atomic_tool",
    "PolicyLayer": "callgate.compat.policy_chain",
    "ProviderType": "callgate.compat.registered_tool",
    "RegisteredTool": "callgate.compat.registered_tool",
    "SideEffectClass": "callgate.compat.atomic_tool",
    "Skill": "callgate.compat.skill",
    "SkillNotFoundError": "callgate.errors",
    "SkillRegistry": "callgate.compat.skill",
    "ToolCallContext": "callgate.adapters.base_tool",
    "ToolConfig": "callgate.compat.registered_tool",
    "ToolContext": "callgate.compat.atomic_tool",
    "ToolExecutor": "callgate.compat.executor",
    "ToolHealth": "callgate.compat.registered_tool",
    "ToolOutput": "callgate.compat.tool_output",
    "ToolPermission": "callgate.compat.atomic_tool",
    "ToolPermissions": "callgate.compat.permissions",
    "ToolPluginLoader": "callgate.compat.plugin_loader",
    "ToolRegistry": "callgate.compat.tool_registry",
    "ToolSource": "callgate.compat.atomic_tool",
    "assemble_tool_pool": "callgate.compat.tool_pool",
    "permissions_to_policy": "callgate.compat.permissions",
    "resolve_policy_chain": "callgate.compat.policy_chain",
    "to_anthropic_tools": "callgate.compat.tool_pool",
    "to_openai_tools": "callgate.compat.tool_pool",
}

__all__ = [
    "AtomicTool",
    "DeterminismClass",
    "PolicyLayer",
    "ProviderType",
    "RegisteredTool",
    "SideEffectClass",
    "Skill",
    "SkillNotFoundError",
    "SkillRegistry",
    "ToolCallContext",
    "ToolConfig",
    "ToolContext",
    "ToolExecutor",
    "ToolHealth",
    "ToolOutput",
    "ToolPermission",
    "ToolPermissions",
    "ToolPluginLoader",
    "ToolRegistry",
    "ToolSource",
    "assemble_tool_pool",
    "permissions_to_policy",
    "resolve_policy_chain",
    "to_anthropic_tools",
    "to_openai_tools",
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
