"""AtomicTool: a tool with its source, its permissions and the callable bound to it; a gate runs it as any other."""

from __future__ import annotations

import enum
import inspect
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from typing import Any, Self

from callgate.adapters.convert import convert
from callgate.compat.ground import in_directory, with_scopes, with_time_limit
from callgate.errors import ConfigurationError, ToolExecutionError
from callgate.model.context import Context
from callgate.model.ids import uuid7
from callgate.model.levels import Effect, Origin
from callgate.model.tool import Tool

_TOOLKIT = "toolkit:"
_OF_ONE_THING = frozenset({Origin.FUNCTION, Origin.LANGCHAIN})


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
_WORST: dict[str, Any] = {"effects": [Effect.SYSTEM_STATE, Effect.NETWORK_ACCESS]}


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
    _made: Tool | None = field(default=None, init=False, repr=False)
    """The tool it was taken from, ready for a gate."""
    _known: dict[str, Any] = field(default_factory=dict[str, Any], init=False, repr=False)
    """What that tool says by itself; only what is said otherwise here is declared anew."""

    def bind(self, fn: Callable[..., Any]) -> Self:
        """Say what runs."""
        self._callable, self._made, self._known = fn, None, {}
        return self

    def bind_tool(self, tool: Tool, fn: Callable[..., Any] | None = None, *, said: Collection[str] = ()) -> Self:
        """Say that it is this tool, which a gate gets as it is for as long as nothing else is said here.

        Args:
            tool: The tool it was taken from.
            fn: What `execute` runs, where that is not the tool's own function.
            said: Fields that are said here, and not by what the tool was made from.
        """
        self._callable = fn or self._callable
        known = {name: value for name, value in self._said().items() if name not in said}
        self._made, self._known = tool, known
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
        said = {name: value for name, value in self._said().items() if self._known.get(name, self) != value}
        if self._made is not None and not said:
            return self._made
        kind = said.pop("side_effect_class", None)
        effects = {} if kind is None else self._effects(SideEffectClass(kind))
        [made] = convert(self._thing(), id=self.tool_id, **effects, **said)
        return made

    @classmethod
    def of(cls, tool: Tool) -> AtomicTool:
        """The view of a tool of a gate. What is bound is its bare handler, where it has one."""
        source = _SOURCES.get(tool.source, ToolSource.USER)
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
            side_effect_class=_class_of(tool),
            permissions=sorted(tool.scopes),
            timeout_ms=int((tool.timeout or 30) * 1000),
            tags=[f"source:{source.value}", *(tag for tag in tool.tags if not tag.startswith("source:"))],
            toolkit_name=next((tag.removeprefix(_TOOLKIT) for tag in tool.tags if tag.startswith(_TOOLKIT)), None),
        )
        return atom.bind(tool.original) if callable(tool.original) else atom

    def _said(self) -> dict[str, Any]:
        """Everything it says, as fields of a declaration; what it does is among them as its class."""
        return {
            "name": self.name,
            "description": self.description or None,
            "input_schema": self.input_schema or None,
            "output_schema": self.output_schema,
            "scopes": sorted(map(str, self.permissions)) or None,
            "timeout": self.timeout_ms / 1000,
            "tags": [f"source:{self.source.value}", *self.tags],
            "deterministic": self.determinism_class == DeterminismClass.DETERMINISTIC,
            "side_effect_class": self.side_effect_class,
        }

    def _effects(self, kind: SideEffectClass) -> dict[str, Any]:
        """What a class declares. External says nothing; said of a tool that had declared less, it is the worst."""
        return _WORST if kind is SideEffectClass.EXTERNAL and self._made is not None else _DECLARED[kind]

    def _thing(self) -> Any:
        """What is converted: the callable, or what the tool was made from, if it was made from one thing."""
        if self._made is None:
            return self._bound()
        if self._made.source not in _OF_ONE_THING:
            message = f"{self.name} is declared where it comes from, and not changed here"
            raise ConfigurationError(message)
        return self._made.original

    def _bound(self) -> Callable[..., Any]:
        if self._callable is None:
            raise ToolExecutionError(f"Tool {self.name} has no bound callable")
        return self._callable


def _class_of(tool: Tool) -> SideEffectClass:
    if tool.read_only:
        return SideEffectClass.PURE
    if not tool.effects:
        return SideEffectClass.EXTERNAL
    return SideEffectClass.IDEMPOTENT if tool.idempotent else SideEffectClass.EFFECTFUL


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
        """The same for a gate, over a context that says the rest, and what is the most of each limit."""
        ground = in_directory(ground, self.working_directory or None)
        ground = with_scopes(ground, map(str, self.granted_permissions))
        ground = with_time_limit(ground, self.timeout_ms / 1000)
        trace = ground.trace_id if self.trace is None else str(getattr(self.trace, "trace_id", self.trace))
        return replace(ground, principal=self.agent_id, trace_id=trace, idempotency_key=None)
