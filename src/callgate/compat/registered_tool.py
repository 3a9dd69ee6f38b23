"""A registered tool with its actions, its configuration and its health, as a registry of connectors keeps them."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from callgate.adapters.base_tool import BaseTool
from callgate.adapters.convert import convert
from callgate.errors import ConfigurationError
from callgate.model.health import Health
from callgate.model.levels import HealthStatus, Origin, Risk
from callgate.model.tool import Tool


class ProviderType(enum.StrEnum):
    """Who runs the tool."""

    NATIVE = "native"
    MCP = "mcp"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolHealth:
    """How the system behind a tool is."""

    status: HealthStatus = HealthStatus.HEALTHY
    last_success_at: datetime | None = None
    last_error: str | None = None
    consecutive_errors: int = 0
    rate_limit_resets_at: datetime | None = None

    @classmethod
    def of(cls, health: Health) -> ToolHealth:
        """The same, from what a gate knows."""
        return cls(
            status=health.status,
            last_success_at=_moment(health.last_success_at),
            last_error=health.last_error,
            consecutive_errors=health.consecutive_errors,
            rate_limit_resets_at=_moment(health.rate_limit_resets_at),
        )

    def as_health(self) -> Health:
        """The same, for a gate."""
        return Health(
            status=HealthStatus(self.status),
            last_success_at=_seconds(self.last_success_at),
            last_error=self.last_error,
            consecutive_errors=self.consecutive_errors,
            rate_limit_resets_at=_seconds(self.rate_limit_resets_at),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolConfig:
    """What an operator says of a tool when it is registered."""

    connector_id: str | None = None
    risk_default: Risk | str | None = None
    """For actions that neither this nor the tool itself has a risk for."""
    risk_map: Mapping[str, Risk | str] = field(default_factory=dict[str, "Risk | str"])
    """Per action, before what the tool says."""
    config_ref: str | None = None
    declaration: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Further fields that hold for every action, as `@tool` takes them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisteredTool:
    """What a registry knows of a tool."""

    tool_name: str
    connector_id: str
    capabilities: list[str]
    scopes: list[str]
    risk_default: Risk
    """The highest of its actions'."""
    risk_map: dict[str, Risk]
    supports_preview: bool
    provider_type: ProviderType
    health: ToolHealth
    config_ref: str | None

    @classmethod
    def of(cls, name: str, tools: Sequence[Tool], *, health: Health) -> RegisteredTool:
        """The view of one tool, from its actions."""
        first = tools[0]
        return cls(
            tool_name=name,
            connector_id=first.connector,
            capabilities=list(dict.fromkeys(word for tool in tools for word in tool.capabilities)),
            scopes=sorted({scope for tool in tools for scope in tool.scopes}),
            risk_default=max(tool.base_risk for tool in tools),
            risk_map={tool.name.partition(".")[2]: tool.base_risk for tool in tools if "." in tool.name},
            supports_preview=any(tool.hooks.preview is not None for tool in tools),
            provider_type=ProviderType.MCP if first.source is Origin.MCP else ProviderType.NATIVE,
            health=ToolHealth.of(health),
            config_ref=first.config_ref,
        )


def configured(tool: BaseTool, config: ToolConfig) -> list[Tool]:
    """The actions of a tool as its operator configured them.

    Raises:
        ConfigurationError: An action is configured that the tool does not have, or is declared wrong.
    """
    fields = dict(config.declaration)
    fields |= {} if config.connector_id is None else {"connector": config.connector_id}
    fields |= {} if config.config_ref is None else {"config_ref": config.config_ref}
    made = {each.name.partition(".")[2]: each for each in convert(tool, **fields)}
    unknown = sorted(config.risk_map.keys() - made.keys())
    if unknown:
        raise ConfigurationError(f"{tool.tool_name} has no action {unknown[0]!r}", key="risk_map")
    for action in made:
        own = tool.risk_map.get(action, tool.risk_default)
        risk = config.risk_map.get(action, config.risk_default if own is None else own)
        if risk != own:
            again = {each.name.partition(".")[2]: each for each in convert(tool, **fields, risk=risk)}
            made[action] = again[action]
    return list(made.values())


def _moment(seconds: float | None) -> datetime | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)


def _seconds(moment: datetime | None) -> float | None:
    return None if moment is None else moment.timestamp()
