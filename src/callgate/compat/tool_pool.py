"""Pools and definitions in the words of a registry that emits them itself: lists in, lists out. Runs nothing."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, Protocol, TypeVar

from callgate.adapters.convert import convert
from callgate.model.tool import Tool
from callgate.runtime.offering import ModelPool


class Named(Protocol):
    """Anything with a tool's name."""

    @property
    def name(self) -> str:
        """The tool's name."""
        ...


N = TypeVar("N", bound=Named)


def assemble_tool_pool(  # noqa: PLR0917 - the words of its model
    built_in: Iterable[N], mcp_tools: Iterable[N], deny_rules: Collection[str] = ()
) -> list[N]:
    """Built-in tools by name, then the others by name, without what is denied; of two with one name the built-in.

    Only an order and a choice: what a caller may use is for the gate to say, whose `pool(context)` does both.
    """
    chosen: dict[str, N] = {}
    for part in (built_in, mcp_tools):
        for tool in sorted(part, key=lambda each: each.name):
            if tool.name not in deny_rules:
                chosen.setdefault(tool.name, tool)
    return list(chosen.values())


def to_anthropic_tools(tools: Iterable[Any]) -> list[dict[str, Any]]:
    """Definitions for Anthropic Messages, in the order given.

    Raises:
        ConfigurationError: Something among them cannot be a tool.
    """
    return _pool(tools).to_anthropic()


def to_openai_tools(tools: Iterable[Any]) -> list[dict[str, Any]]:
    """Definitions for OpenAI Responses, in the order given.

    Raises:
        ConfigurationError: Something among them cannot be a tool.
    """
    return _pool(tools).to_openai()


def _pool(tools: Iterable[Any]) -> ModelPool:
    made: list[Tool] = [tool for thing in tools for tool in convert(thing)]
    return ModelPool(made)
