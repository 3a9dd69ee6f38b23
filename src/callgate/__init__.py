"""Callgate: the one gate between a model and everything it can do.

What is promised is listed here; everything is loaded when it is first asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from callgate.adapters.base_tool import BaseTool
    from callgate.adapters.build import build_tool
    from callgate.adapters.entry_points import EntryPoints
    from callgate.adapters.function import tool
    from callgate.adapters.langchain.source import LangChainTools
    from callgate.adapters.mcp.client_files import McpServers
    from callgate.adapters.mcp.oauth.asking import OAuth
    from callgate.adapters.mcp.server import McpServer
    from callgate.adapters.plugins.source import PluginFolder
    from callgate.adapters.registry_files.schema_file import SchemaFile
    from callgate.adapters.registry_files.yaml_registry import YamlRegistry
    from callgate.adapters.toolkits.source import ToolkitSource
    from callgate.adapters.toolkits.toolkit import Toolkit, register_toolkit
    from callgate.errors import NoEffect
    from callgate.flows.chain.chain import Chain
    from callgate.flows.plan import Plan
    from callgate.flows.trees.contract import Contract
    from callgate.flows.trees.statuses import NodeStatus
    from callgate.model.call import Call
    from callgate.model.context import Context
    from callgate.model.outcome import Failed, Outcome, Pending, Previewed, Refused, Succeeded, Unknown
    from callgate.model.plugin_settings import PluginSettings
    from callgate.model.tool import Preview
    from callgate.model.tool_context import ToolContext
    from callgate.runtime.gate import Callgate
    from callgate.runtime.turn import Turn
    from callgate.skills.context import SkillContext
    from callgate.skills.folder import SkillFolder
    from callgate.skills.skill import Skill, skill

_PLACES = {
    "BaseTool": "callgate.adapters.base_tool",
    "Call": "callgate.model.call",
    "Callgate": "callgate.runtime.gate",
    "Chain": "callgate.flows.chain.chain",
    "Context": "callgate.model.context",
    "Contract": "callgate.flows.trees.contract",
    "EntryPoints": "callgate.adapters.entry_points",
    "Failed": "callgate.model.outcome",
    "LangChainTools": "callgate.adapters.langchain.source",
    "McpServer": "callgate.adapters.mcp.server",
    "McpServers": "callgate.adapters.mcp.client_files",
    "NoEffect": "callgate.errors",
    "NodeStatus": "callgate.flows.trees.statuses",
    "OAuth": "callgate.adapters.mcp.oauth.asking",
    "Outcome": "callgate.model.outcome",
    "Pending": "callgate.model.outcome",
    "Plan": "callgate.flows.plan",
    "PluginFolder": "callgate.adapters.plugins.source",
    "PluginSettings": "callgate.model.plugin_settings",
    "Preview": "callgate.model.tool",
    "Previewed": "callgate.model.outcome",
    "Refused": "callgate.model.outcome",
    "SchemaFile": "callgate.adapters.registry_files.schema_file",
    "Skill": "callgate.skills.skill",
    "SkillContext": "callgate.skills.context",
    "SkillFolder": "callgate.skills.folder",
    "Succeeded": "callgate.model.outcome",
    "ToolContext": "callgate.model.tool_context",
    "Toolkit": "callgate.adapters.toolkits.toolkit",
    "ToolkitSource": "callgate.adapters.toolkits.source",
    "Turn": "callgate.runtime.turn",
    "Unknown": "callgate.model.outcome",
    "YamlRegistry": "callgate.adapters.registry_files.yaml_registry",
    "build_tool": "callgate.adapters.build",
    "register_toolkit": "callgate.adapters.toolkits.toolkit",
    "skill": "callgate.skills.skill",
    "tool": "callgate.adapters.function",
}

__all__ = [
    "BaseTool",
    "Call",
    "Callgate",
    "Chain",
    "Context",
    "Contract",
    "EntryPoints",
    "Failed",
    "LangChainTools",
    "McpServer",
    "McpServers",
    "NoEffect",
    "NodeStatus",
    "OAuth",
    "Outcome",
    "Pending",
    "Plan",
    "PluginFolder",
    "PluginSettings",
    "Preview",
    "Previewed",
    "Refused",
    "SchemaFile",
    "Skill",
    "SkillContext",
    "SkillFolder",
    "Succeeded",
    "ToolContext",
    "Toolkit",
    "ToolkitSource",
    "Turn",
    "Unknown",
    "YamlRegistry",
    "build_tool",
    "register_toolkit",
    "skill",
    "tool",
]


def __getattr__(name: str) -> Any:
    place = _PLACES.get(name)
    if place is None:
        message = f"module 'callgate' has no attribute {name!r}"
        raise AttributeError(message)
    found = getattr(import_module(place), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
