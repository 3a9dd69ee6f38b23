"""The Tool protocol's own registry over a gate: registering gives another registry, and what it gives out is gated.

Its `ToolContext`, `ToolResult` and `ToolRegistry` are those of the protocol; others of these names are in
`callgate.compat`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self

from callgate.adapters.build import build_tool
from callgate.adapters.convert import convert
from callgate.compat.ground import in_directory
from callgate.compat.home import Home, settled
from callgate.compat.tool_pool import assemble_tool_pool, to_anthropic_tools, to_openai_tools
from callgate.compat.tool_result import ToolResult
from callgate.errors import ConfigurationError, ToolNotFoundError
from callgate.formats.names import wire_names
from callgate.model import tool as model
from callgate.model.context import Context
from callgate.model.decision import Decision
from callgate.model.levels import Verdict
from callgate.model.outcome import ErrorInfo, Refused
from callgate.registry.snapshot import not_found

__all__ = ["GatedTool", "Tool", "ToolContext", "ToolRegistry", "ToolResult", "assemble_tool_pool", "build_tool"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolContext:
    """Where a tool works, and in which conversation."""

    working_directory: str
    session_id: str


class Tool(Protocol):
    """What every tool of the protocol has; `check_permissions` and the two flags may be left out, and are no then."""

    name: str
    description: str
    input_schema: dict[str, Any]

    async def execute(self, payload: dict[str, Any], context: Any) -> Any:
        """The work; may be a plain function."""
        ...

    async def check_permissions(self, payload: dict[str, Any], context: Any) -> None:
        """Raises PermissionError to refuse; may be a plain function."""
        ...

    def is_read_only(self) -> bool:
        """Whether it changes nothing."""
        ...

    def is_concurrency_safe(self) -> bool:
        """Whether it may run beside others."""
        ...


class GatedTool:
    """A registered tool of the protocol: whatever is asked of it, the gate answers."""

    def __init__(self, tool: model.Tool, home: Home, ground: Context) -> None:  # noqa: PLR0917 - made here only
        self.name = tool.name
        self.description = tool.description
        self.input_schema = tool.input_schema
        self._tool = tool
        self._home = home
        self._ground = ground

    async def execute(self, payload: Mapping[str, Any], context: ToolContext) -> ToolResult:
        """Call it through the gate. Never raises for what becomes of the call: the result has an error then."""
        return ToolResult.of(await settled(self._home.call(self.name, payload, self._asker(context))))

    async def check_permissions(self, payload: Mapping[str, Any], context: ToolContext) -> None:
        """Ask whether this call may be made, without making it; a call that a person has to confirm may.

        Raises:
            PermissionError: It may not.
            ToolError: It cannot be made at all: it is unavailable, or its arguments are wrong.
        """
        gate = await self._home.opened()
        decision = await settled(gate.explain(self.name, payload, self._asker(context)))
        if decision.verdict is Verdict.DENY:
            _refuse(self.name, decision)

    def is_read_only(self) -> bool:
        """Whether it is declared to change nothing."""
        return self._tool.read_only

    def is_concurrency_safe(self) -> bool:
        """Whether it is declared to run beside others."""
        return self._tool.concurrency_safe

    def _asker(self, context: ToolContext) -> Context:
        return replace(in_directory(self._ground, context.working_directory), session=context.session_id)


class ToolRegistry:
    """Tools of the protocol. Immutable: `registry = registry.register(tool)`.

    Args:
        gate: An open gate. Without one, a gate with its defaults is opened with the first call; `async with
            ToolRegistry() as registry:`, or `close()`, lets it go.
        context: Who asks; the session and the directory come with each call. Where it has a directory of its own, what
            is granted there bounds those of the calls.
    """

    def __init__(self, gate: Any = None, *, context: Context | None = None) -> None:
        self._home = Home(gate)
        self._ground = context or Context()
        self._tools: dict[str, model.Tool] = {}

    async def __aenter__(self) -> Self:
        await self._home.opened()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Let go of the gate, if it is one of their own; it is that of all registries that came from one."""
        await self._home.close()

    def register(self, tool: Any) -> ToolRegistry:
        """Another registry that has the tool as well; this one stays as it is.

        Raises:
            ConfigurationError: It is no tool, is declared wrong, or its name is another's at this gate.
        """
        made = self._at_the_gate(tool)
        other = ToolRegistry(context=self._ground)
        other._home = self._home
        other._tools = {**self._tools, made.name: made}
        return other

    def get(self, name: str) -> GatedTool:
        """The tool of that name, also of the name by which it travels to providers.

        Raises:
            ToolNotFoundError: There is none; a KeyError.
        """
        own = {wire: each for each, wire in wire_names(self._tools).items()}
        found = self._tools.get(name) or self._tools.get(own.get(name, ""))
        if found is None:
            raise not_found(name, self._tools)
        return GatedTool(found, self._home, self._ground)

    def to_anthropic_tools(self) -> list[dict[str, Any]]:
        """Definitions for Anthropic Messages, as the tools came."""
        return to_anthropic_tools(self._tools.values())

    def to_openai_tools(self) -> list[dict[str, Any]]:
        """Definitions for OpenAI Responses, as the tools came."""
        return to_openai_tools(self._tools.values())

    def _at_the_gate(self, thing: Any) -> model.Tool:
        [made, *others] = convert(thing)
        if others:
            raise ConfigurationError("register one tool after the other")
        try:
            present: model.Tool = self._home.gate.tool(made.name)
        except ToolNotFoundError:
            self._home.gate.add(made)
            return made
        if present is not made and present.original is not made.original:
            raise ConfigurationError(f"tool {made.name!r} is already registered at this gate, and is another one")
        return present


def _refuse(name: str, decision: Decision) -> None:
    against = [reason.text for reason in decision.reasons if reason.verdict is Verdict.DENY]
    info = ErrorInfo(code=decision.code, message="; ".join(against) or f"{name} is denied", tool=name)
    Refused(tool=name, call_id="", error=info, decision=decision).unwrap()
