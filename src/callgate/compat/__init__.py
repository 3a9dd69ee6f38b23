"""The surfaces of the systems Callgate unifies, as thin translations over one gate. Knows no rule of its own.

Everything is loaded when it is first asked for. What belongs to the Tool protocol is in `callgate.compat.protocol`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from callgate.adapters.base_tool import BaseTool, PreviewResult, ToolCallContext
    from callgate.adapters.build import build_tool
    from callgate.compat.atomic_tool import (
        AtomicTool,
        DeterminismClass,
        SideEffectClass,
        ToolContext,
        ToolPermission,
        ToolSource,
    )
    from callgate.compat.capability import Capability
    from callgate.compat.domain_events import (
        AgentRef,
        DomainEvent,
        Envelope,
        ToolCompleted,
        ToolFailed,
        ToolInvoked,
        ToolRegistered,
        ToolTimeout,
        domain_event,
    )
    from callgate.compat.event_bus import EventBus
    from callgate.compat.executor import ToolExecutor
    from callgate.compat.mcp_adapter import MCPAdapter
    from callgate.compat.permissions import ToolCategory, ToolPermissions, permissions_to_policy
    from callgate.compat.plugin_loader import ToolPluginLoader
    from callgate.compat.policy_chain import PolicyLayer, resolve_policy_chain
    from callgate.compat.registered_tool import ProviderType, RegisteredTool, ToolConfig, ToolHealth
    from callgate.compat.skill import Skill, SkillRegistry
    from callgate.compat.source_adapters import BuiltinAdapter, FunctionAdapter, LangChainAdapter
    from callgate.compat.tool_output import ToolOutput
    from callgate.compat.tool_pool import assemble_tool_pool, to_anthropic_tools, to_openai_tools
    from callgate.compat.tool_registry import ToolRegistry
    from callgate.compat.tool_result import ToolResult
    from callgate.errors import (
        ApprovalRequired,
        PreviewRequired,
        ScopeViolation,
        SkillNotFoundError,
        ToolError,
        ToolExecutionError,
        ToolNotFoundError,
        ToolPermissionError,
        ToolTimeoutError,
    )
    from callgate.model.levels import Effect as SideEffect
    from callgate.model.levels import HealthStatus
    from callgate.model.levels import Risk as RiskLevel

_PLACES = {
    "AgentRef": "callgate.compat.domain_events",
    "ApprovalRequired": "callgate.errors",
    "AtomicTool": "callgate.compat.atomic_tool",
    "BaseTool": "callgate.adapters.base_tool",
    "BuiltinAdapter": "callgate.compat.source_adapters",
    "Capability": "callgate.compat.capability",
    "DeterminismClass": "callgate.compat.atomic_tool",
    "DomainEvent": "callgate.compat.domain_events",
    "Envelope": "callgate.compat.domain_events",
    "EventBus": "callgate.compat.event_bus",
    "FunctionAdapter": "callgate.compat.source_adapters",
    "HealthStatus": "callgate.model.levels",
    "LangChainAdapter": "callgate.compat.source_adapters",
    "MCPAdapter": "callgate.compat.mcp_adapter",
    "PolicyLayer": "callgate.compat.policy_chain",
    "PreviewRequired": "callgate.errors",
    "PreviewResult": "callgate.adapters.base_tool",
    "ProviderType": "callgate.compat.registered_tool",
    "RegisteredTool": "callgate.compat.registered_tool",
    "RiskLevel": "callgate.model.levels:Risk",
    "ScopeViolation": "callgate.errors",
    "SideEffect": "callgate.model.levels:Effect",
    "SideEffectClass": "callgate.compat.atomic_tool",
    "Skill": "callgate.compat.skill",
    "SkillNotFoundError": "callgate.errors",
    "SkillRegistry": "callgate.compat.skill",
    "ToolCallContext": "callgate.adapters.base_tool",
    "ToolCategory": "callgate.compat.permissions",
    "ToolCompleted": "callgate.compat.domain_events",
    "ToolConfig": "callgate.compat.registered_tool",
    "ToolContext": "callgate.compat.atomic_tool",
    "ToolError": "callgate.errors",
    "ToolExecutionError": "callgate.errors",
    "ToolExecutor": "callgate.compat.executor",
    "ToolFailed": "callgate.compat.domain_events",
    "ToolHealth": "callgate.compat.registered_tool",
    "ToolInvoked": "callgate.compat.domain_events",
    "ToolNotFoundError": "callgate.errors",
    "ToolOutput": "callgate.compat.tool_output",
    "ToolPermission": "callgate.compat.atomic_tool",
    "ToolPermissionError": "callgate.errors",
    "ToolPermissions": "callgate.compat.permissions",
    "ToolPluginLoader": "callgate.compat.plugin_loader",
    "ToolRegistered": "callgate.compat.domain_events",
    "ToolRegistry": "callgate.compat.tool_registry",
    "ToolResult": "callgate.compat.tool_result",
    "ToolSource": "callgate.compat.atomic_tool",
    "ToolTimeout": "callgate.compat.domain_events",
    "ToolTimeoutError": "callgate.errors",
    "assemble_tool_pool": "callgate.compat.tool_pool",
    "build_tool": "callgate.adapters.build",
    "domain_event": "callgate.compat.domain_events",
    "permissions_to_policy": "callgate.compat.permissions",
    "resolve_policy_chain": "callgate.compat.policy_chain",
    "to_anthropic_tools": "callgate.compat.tool_pool",
    "to_openai_tools": "callgate.compat.tool_pool",
}
"""Where each name is, and how it is called there where that is another name."""

__all__ = [
    "AgentRef",
    "ApprovalRequired",
    "AtomicTool",
    "BaseTool",
    "BuiltinAdapter",
    "Capability",
    "DeterminismClass",
    "DomainEvent",
    "Envelope",
    "EventBus",
    "FunctionAdapter",
    "HealthStatus",
    "LangChainAdapter",
    "MCPAdapter",
    "PolicyLayer",
    "PreviewRequired",
    "PreviewResult",
    "ProviderType",
    "RegisteredTool",
    "RiskLevel",
    "ScopeViolation",
    "SideEffect",
    "SideEffectClass",
    "Skill",
    "SkillNotFoundError",
    "SkillRegistry",
    "ToolCallContext",
    "ToolCategory",
    "ToolCompleted",
    "ToolConfig",
    "ToolContext",
    "ToolError",
    "ToolExecutionError",
    "ToolExecutor",
    "ToolFailed",
    "ToolHealth",
    "ToolInvoked",
    "ToolNotFoundError",
    "ToolOutput",
    "ToolPermission",
    "ToolPermissionError",
    "ToolPermissions",
    "ToolPluginLoader",
    "ToolRegistered",
    "ToolRegistry",
    "ToolResult",
    "ToolSource",
    "ToolTimeout",
    "ToolTimeoutError",
    "assemble_tool_pool",
    "build_tool",
    "domain_event",
    "permissions_to_policy",
    "resolve_policy_chain",
    "to_anthropic_tools",
    "to_openai_tools",
]


def __getattr__(name: str) -> Any:
    place, _, called = _PLACES.get(name, "").partition(":")
    if not place:
        message = f"module 'callgate.compat' has no attribute {name!r}"
        raise AttributeError(message)
    found = getattr(import_module(place), called or name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
