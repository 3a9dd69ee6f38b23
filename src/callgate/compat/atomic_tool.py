"""AtomicTool: a tool with its source, its permissions and the callable bound to it; a gate runs it as any other."""

from __future__ import annotations

import enum
import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Self

from callgate.adapters.convert import convert
from callgate.errors import ToolExecutionError
from callgate.model.context import Context
from callgate.model.ids import uuid7
from callgate.model.levels import Effect, Origin
from callgate.model.tool import Tool

_TOOLKIT = "toolkit:"


class ToolSource(enum.StrEnum):
    """Where a tool came from."""

    BUILTIN = "builtin"
    LANGCHAIN = "langchain"
    MCP = "mcp"
    USER = "user"


class ToolPermission(enum.StrEnum):
    """What a tool may need; any other scope is as good."""

    FS_READ = "fs:read"
    FS_WRITE = "fs:write"
    NET_OUTBOUND = "net:outbound"
    SHELL_EXECUTE = "shell:execute"
    ENV_READ = "env:read"
    MCP_CONNECT = "mcp:connect"


class SideEffectClass(enum.StrEnum):
    """What a tool does to the world; external is the worst, and what a tool that says nothing counts as."""

    PURE = "pure"
    IDEMPOTENT = "idempotent"
    EFFECTFUL = "effectful"
    EXTERNAL = "external"


class DeterminismClass(enum.StrEnum):
    """Whether the same arguments give the same output."""

    DETERMINISTIC = "deterministic"
    NONDETERMINISTIC = "nondeterministic"


_SOURCES = {
    Origin.BUILTIN: ToolSource.BUILTIN,
    Origin.TOOLKIT: ToolSource.BUILTIN,
    Origin.LANGCHAIN: ToolSource.LANGCHAIN,
    Origin.MCP: ToolSource.MCP,
}
_DECLARED: dict[SideEffectClass, dict[str, Any]] = {
    SideEffectClass.PURE: {"effects": Effect.READ_ONLY},
    SideEffectClass.IDEMPOTENT: {"effects": Effect.SYSTEM_STATE, "idempotent": True},
    SideEffectClass.EFFECTFUL: {"effects": Effect.SYSTEM_STATE},
    SideEffectClass.EXTERNAL: {},
}


@dataclass(slots=True, kw_only=True, eq=False)
class AtomicTool:
    """A tool. Without permissions, or a class of side effects that says what it does, nobody may run it."""

    name: str
    description: str = ""
    tool_id: str = field(default_factory=uuid7)
    input_schema: dict[str, Any] = field(default_factory=dict[str, Any])
    """Empty: it comes from the callable."""
    output_schema: dict[str, Any] | None = None
    source: ToolSource = ToolSource.USER
    determinism_class: DeterminismClass = DeterminismClass.NONDETERMINISTIC
    side_effect_class: SideEffectClass = SideEffectClass.EXTERNAL
    permissions: list[ToolPermission | str] = field(default_factory=list["ToolPermission | str"])
    timeout_ms: int = 30_000
    tags: list[str] = field(default_factory=list[str])
    toolkit_name: str | None = None
    _callable: Callable[..., Any] | None = field(default=None, init=False, repr=False)

    def bind(self, fn: Callable[..., Any]) -> Self:
        """Say what runs."""
        self._callable = fn
        return self

    async def execute(self, **kwargs: Any) -> Any:
        """Run the bare callable, without a gate, as unit tests want.

        Raises:
            ToolExecutionError: Nothing is bound.
        """
        result = self._bound()(**kwargs)
        return await result if inspect.isawaitable(result) else result

    def as_tool(self) -> Tool:
        """The same for a gate.

        Raises:
            ToolExecutionError: Nothing is bound.
            ConfigurationError: It cannot be a tool as it is.
        """
        declared = _DECLARED[SideEffectClass(self.side_effect_class)]
        [made] = convert(
            self._bound(),
            id=self.tool_id,
            name=self.name,
            description=self.description or None,
            input_schema=self.input_schema or None,
            output_schema=self.output_schema,
            scopes=[str(permission) for permission in self.permissions] or None,
            timeout=self.timeout_ms / 1000,
            tags=[f"source:{self.source.value}", *self.tags],
            deterministic=self.determinism_class == DeterminismClass.DETERMINISTIC,
            **declared,
        )
        return made

    @classmethod
    def of(cls, tool: Tool) -> AtomicTool:
        """The view of a tool of a gate. What is bound is its bare handler, where it has one."""
        source = _SOURCES.get(tool.source, ToolSource.USER)
        kind = SideEffectClass.PURE if tool.read_only else SideEffectClass.EFFECTFUL
        atom = cls(
            tool_id=tool.id,
            name=tool.name,
            description=tool.description,
            input_schema=tool.input_schema,
            output_schema=tool.output_schema,
            source=source,
            determinism_class=DeterminismClass.DETERMINISTIC
            if tool.deterministic
            else DeterminismClass.NONDETERMINISTIC,
            side_effect_class=SideEffectClass.IDEMPOTENT if tool.idempotent and tool.effectful else kind,
            permissions=sorted(tool.scopes),
            timeout_ms=int((tool.timeout or 30) * 1000),
            tags=[f"source:{source.value}", *(tag for tag in tool.tags if not tag.startswith("source:"))],
            toolkit_name=next((tag.removeprefix(_TOOLKIT) for tag in tool.tags if tag.startswith(_TOOLKIT)), None),
        )
        return atom.bind(tool.original) if callable(tool.original) else atom

    def _bound(self) -> Callable[..., Any]:
        if self._callable is None:
            raise ToolExecutionError(f"Tool {self.name} has no bound callable")
        return self._callable


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolContext:
    """Who runs an atomic tool, with which permissions."""

    agent_id: str
    trace: Any = None
    """The id of the trace, or something that has it as `trace_id`; one is made when left out."""
    granted_permissions: list[ToolPermission | str] = field(default_factory=list["ToolPermission | str"])
    working_directory: str | None = None
    timeout_ms: int = 30_000

    def as_context(self, ground: Context) -> Context:
        """The same for a gate, over a context that says the rest."""
        trace = ground.trace_id if self.trace is None else str(getattr(self.trace, "trace_id", self.trace))
        return Context(
            principal=self.agent_id,
            user=ground.user,
            session=ground.session,
            role=ground.role,
            scopes=frozenset(str(permission) for permission in self.granted_permissions),
            autonomy=ground.autonomy,
            trace_id=trace,
            working_directory=self.working_directory or ground.working_directory,
            timeout=self.timeout_ms / 1000,
            read_only=ground.read_only,
            no_web=ground.no_web,
            layers=ground.layers,
        )
