"""Capability: what a registry can do, tool by tool, found by how it behaves. A view; the tools are the gate's."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Self

from callgate.compat.atomic_tool import AtomicTool, DeterminismClass, SideEffectClass


@dataclass(frozen=True, slots=True, kw_only=True)
class Capability:
    """One thing that can be done."""

    capability_id: str
    """The id of the tool that does it."""
    name: str
    description: str
    determinism: DeterminismClass
    side_effect: SideEffectClass
    tags: list[str] = field(default_factory=list[str])
    input_schema: dict[str, Any] = field(default_factory=dict[str, Any])

    @classmethod
    def of(cls, tool: AtomicTool) -> Self:
        """What a tool can do."""
        return cls(
            capability_id=tool.tool_id,
            name=tool.name,
            description=tool.description,
            determinism=tool.determinism_class,
            side_effect=tool.side_effect_class,
            tags=list(tool.tags),
            input_schema=tool.input_schema,
        )


def select_capabilities(
    tools: Iterable[AtomicTool],
    *,
    determinism: DeterminismClass | None,
    side_effect: SideEffectClass | None,
    tags: Iterable[str] | None,
) -> list[Capability]:
    """Those that behave as wanted and carry every tag."""
    wanted = set(tags or ())
    return [
        Capability.of(tool)
        for tool in tools
        if determinism in {None, tool.determinism_class}
        and side_effect in {None, tool.side_effect_class}
        and wanted.issubset(tool.tags)
    ]
