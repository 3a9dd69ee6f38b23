"""Flat permissions of a role under their former names, judged as the layer they are."""

from __future__ import annotations

import enum
from collections.abc import Iterable
from dataclasses import dataclass, field

from callgate.compat.policy_chain import AllTools, PolicyLayer, each_tool
from callgate.model.tool import Tool
from callgate.policy.layers import CompiledLayer, compile_layer

_NO_WEB = "group:web"


class ToolCategory(enum.StrEnum):
    """The categories of a registry; any other word is as good where a category is asked for."""

    ARCHIVE = "archive"
    CODE = "code"
    DATA = "data"
    FILE = "file"
    LLM = "llm"
    MATH = "math"
    SPECIALIZED = "specialized"
    SYSTEM = "system"
    WEB = "web"


@dataclass(frozen=True, slots=True)
class ToolPermissions:
    """What a role may use: nothing, unless a category or a tool is allowed.

    The order of the answer: forbidden refuses, then missing web access refuses, then an allow admits.
    """

    web_access: bool = False
    """Without it no tool that uses, or could use, the network; an explicit allow does not replace it."""
    allowed_categories: tuple[str, ...] = ()
    allowed_tools: tuple[str, ...] = ()
    """Names, or any other selector of a layer."""
    forbidden_tools: tuple[str, ...] = ()
    """Names, or any other selector of a layer."""
    _layer: CompiledLayer = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        put = object.__setattr__
        for name in ("allowed_categories", "allowed_tools", "forbidden_tools"):
            put(self, name, _listed(getattr(self, name)))
        categories = (f"category:{category}" for category in self.allowed_categories)
        layer = PolicyLayer("permissions", frozenset((*self.allowed_tools, *categories)), self.denied)
        put(self, "_layer", compile_layer(layer.as_layer()))

    @property
    def denied(self) -> frozenset[str]:
        """What is kept out, as selectors of a layer."""
        return frozenset(self.forbidden_tools if self.web_access else (*self.forbidden_tools, _NO_WEB))

    def can_use_tool(self, tool: Tool) -> bool:
        """Whether a role with these permissions may use the tool."""
        return self._layer.judge(tool).verdict is None


def permissions_to_policy(  # noqa: PLR0917 - the convention's own signature
    name: str, perms: ToolPermissions, all_tools: AllTools
) -> PolicyLayer:
    """A layer that decides each of these tools as the flat check does, and admits no other."""
    allowed = frozenset(tool.name for tool in each_tool(all_tools) if perms.can_use_tool(tool))
    return PolicyLayer(name, allowed, perms.denied)


def _listed(words: Iterable[str]) -> tuple[str, ...]:
    return (words,) if isinstance(words, str) else tuple(words)
