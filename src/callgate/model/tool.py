"""Tool: one thing a model can call. A name, a schema, a handler, and what it declares about itself."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from callgate.model.canonical import dumps
from callgate.model.ids import uuid7
from callgate.model.levels import Caller, Effect, Origin, Risk

Arguments = dict[str, Any]


class Validator(Protocol):
    """Checks arguments against a schema; compiled once, at registration."""

    def __call__(self, arguments: Mapping[str, Any], /) -> Arguments:
        """The final arguments, defaults applied, JSON values only.

        Raises:
            InvalidArguments: With every fault at once.
        """
        ...


class OutputCheck(Protocol):
    """Checks what a handler returned against the output schema."""

    def __call__(self, output: Any, /) -> str | None:
        """None if it fits, else what does not."""
        ...


Handler = Callable[[Arguments, Any], Any]
"""Takes the final arguments and the `ToolContext`; a coroutine function, or a plain one that runs on a thread."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hooks:
    """Optional functions of the arguments that a tool may bring. Each may be sync or async unless said."""

    preview: Callable[..., Any] | None = None
    """(arguments, ToolContext) -> what would happen: text, a mapping, or a `Preview`."""
    check: Callable[..., Any] | None = None
    """(arguments, Context) -> None or True; a text, False or a PermissionError refuses, the text as the reason."""
    verify: Callable[..., Any] | None = None
    """(arguments, key) -> "happened" | "absent" | "cannot_tell"."""
    undo: Callable[..., Any] | None = None
    """(arguments, output) -> reverses the effect."""
    targets: Callable[[Arguments], Any] | None = None
    """Sync: who is reached (addresses, accounts)."""
    broadcast: Callable[[Arguments], bool] | None = None
    """Sync: whether it reaches an open-ended audience."""
    blast_radius: Callable[[Arguments], float] | None = None
    """Sync: how many things it touches; not a number where that is not known before."""
    cost: Callable[[Arguments], float] | None = None
    reads: Callable[..., Any] | None = None
    """(arguments, output) -> sources that were read: {path: content}, for staleness.

    One with a third parameter is given the artifact as well, None where the call has none.
    """
    redact: Callable[[Any], Any] | None = None
    """Sync: a view of the output that may be recorded."""
    resources: Callable[[Arguments], Mapping[str, Any]] | None = None
    """Sync: {"paths": [...], "hosts": [...]} the call will touch, judged against the scope families."""


NO_HOOKS = Hooks()


YES_OR_NO = (
    "destructive",
    "idempotent",
    "deterministic",
    "concurrency_safe",
    "untrusted_output",
    "sensitive_output",
    "egress",
)
"""What a tool declares with a plain yes or no, in the order in which people are told."""
TIGHTENING = ("destructive", "untrusted_output", "sensitive_output", "egress")
"""Flags that make the gate stricter: whoever says them is believed."""
LOOSENING = ("idempotent", "deterministic", "concurrency_safe", "marks_effect", "declared")
"""Flags that let the gate do more: retry, overlap, free a key, run at all."""
_HASHED_FLAGS = (*YES_OR_NO, "marks_effect", "declared")
"""In this order in every hash that stores remember."""
_BESIDE_READING = frozenset({Effect.READ_ONLY, Effect.NETWORK_ACCESS, Effect.CALLS_LLM})


def reading_fault(effects: Iterable[str]) -> str | None:
    """What is wrong with effects that a tool declares together; None where they go together."""
    named = frozenset(effects)
    others = sorted(named - _BESIDE_READING)
    if Effect.READ_ONLY not in named or not others:
        return None
    return f"read_only combines with network_access and calls_llm only, not with {', '.join(others)}"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Tool:
    """One thing a model can call. What is not declared is assumed worst."""

    name: str
    """`snake_case`, optionally `connector.name`."""
    description: str
    input_schema: dict[str, Any]
    handler: Handler | None
    """None: a host tool, judged and never run here; or a tool whose code is missing (`unavailable` says why)."""
    validator: Validator
    output_schema: dict[str, Any] | None = None
    output_check: OutputCheck | None = None
    is_async: bool = False
    """Whether the handler is a coroutine function; others run on threads."""
    id: str = field(default_factory=uuid7)
    connector: str = ""
    """The outside system behind it; its own name when it has none."""
    source: Origin = Origin.FUNCTION
    source_name: str = ""
    """Which server, plugin or file of that source."""
    foreign_name: str = ""
    """What that source itself calls it, where it has names of its own; clients see it at the source's own endpoint."""
    category: str = "general"
    tags: tuple[str, ...] = ()
    capabilities: tuple[str, ...] = ()
    scopes: frozenset[str] = frozenset()
    effects: frozenset[Effect] = frozenset()
    destructive: bool = False
    idempotent: bool = False
    deterministic: bool = False
    concurrency_safe: bool = False
    base_risk: Risk = Risk.HIGH
    """After the rules of declaration: read-only is low, undeclared is high."""
    risk_declared: bool = False
    timeout: float | None = None
    allowed_callers: frozenset[Caller] = frozenset({Caller.DIRECT})
    untrusted_output: bool = False
    sensitive_output: bool = False
    egress: bool = False
    isolation: str = "thread"
    """`thread`, or `process` for a handler that must be killable."""
    horizon: float = 0.0
    """Seconds after which `verify` saying *absent* counts."""
    examples: tuple[Mapping[str, Any], ...] = ()
    declared: bool = True
    """False when none of effects, scopes or check were declared: in no pool, refused."""
    marks_effect: bool = False
    """Whether the handler says with `ctx.effect()` where its point of no return is."""
    unavailable: str | None = None
    """Why it cannot be called, when it cannot (a missing extra, code that does not import)."""
    config_ref: str | None = None
    """Where its connector's configuration is kept; never a credential."""
    code_digest: str = ""
    hooks: Hooks = NO_HOOKS
    original: Any = None
    """The function or object it was made from."""
    claims: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What a foreign source says of it (an MCP server's annotations, say): JSON values, shown and never believed."""
    given: Tool | None = None
    """The tool as its source gave it, where the operator's accepted declaration was laid over it."""
    definition_hash: str = field(init=False, repr=False)
    read_only: bool = field(init=False, repr=False)
    """Derived: declared read_only and nothing that changes anything."""
    plain_read: bool = field(init=False, repr=False)
    """Derived: reads without egress and secrets; the only calls whose events may be written behind."""
    side_effects: tuple[str, ...] = field(init=False, repr=False)
    """Derived: the declared effects as words, sorted."""
    written: bytes = field(init=False, repr=False)
    """Derived: its name and id, as the closing event of a call ends with them."""

    def __post_init__(self) -> None:
        put = object.__setattr__
        read_only = Effect.READ_ONLY in self.effects
        secret = any(scope.startswith("secrets:") for scope in self.scopes)
        put(self, "read_only", read_only)
        put(self, "plain_read", read_only and not self.egress and not secret)
        put(self, "side_effects", tuple(sorted(effect.value for effect in self.effects)))
        put(self, "definition_hash", _definition_hash(self))
        put(self, "written", b"," + dumps({"tool": self.name, "tool_id": self.id})[1:])

    @property
    def effectful(self) -> bool:
        """Anything that is not read-only."""
        return not self.read_only

    @property
    def came_from(self) -> list[str]:
        """The kind of its source, which one that is, and what that calls it where it has names of its own."""
        return [self.source.value, self.source_name, *([self.foreign_name] if self.foreign_name else [])]

    @property
    def source_title(self) -> str:
        """Whose it is, and who alone may replace it: the kind of its source and which one that is, `mcp github`."""
        return source_title(self.source, self.source_name)

    @property
    def as_given(self) -> Tool:
        """The tool as its source gave it: what is pinned, and what a person accepts a declaration for."""
        return self if self.given is None else self.given


def source_title(source: Origin, name: str) -> str:
    """A source as people are shown it: its kind and which one of that kind, `mcp github`."""
    return f"{source.value} {name}".rstrip()


def stated(tool: Tool) -> dict[str, Any]:
    """What a tool declares but its name, flags and claims, as JSON values: for its hash, and to tell what changed."""
    return {
        "description": tool.description,
        "input_schema": tool.input_schema,
        "output_schema": tool.output_schema,
        "connector": tool.connector,
        "source": tool.came_from,
        "category": tool.category,
        "tags": sorted(tool.tags),
        "capabilities": sorted(tool.capabilities),
        "scopes": sorted(tool.scopes),
        "effects": sorted(effect.value for effect in tool.effects),
        "risk": tool.base_risk.label,
        "timeout": tool.timeout,
        "callers": sorted(caller.value for caller in tool.allowed_callers),
        "isolation": tool.isolation,
        "horizon": tool.horizon,
        "examples": [dict(example) for example in tool.examples],
        "code": tool.code_digest,
        "hooks": sorted(name for name in Hooks.__slots__ if getattr(tool.hooks, name) is not None),
    }


def _definition_hash(tool: Tool) -> str:
    flags = [getattr(tool, flag) for flag in _HASHED_FLAGS]
    body = {**stated(tool), "name": tool.name, "flags": flags}
    if tool.claims:
        body["claims"] = dict(tool.claims)
    return hashlib.sha256(dumps(body)).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """What a call would do, and the state of the world it was worked out from."""

    text: str = ""
    """For a person: a sentence, a diff, a table."""
    details: Any = None
    """For a program: whatever the tool's `preview` returned."""
    state: Any = None
    """A hash, an ETag, a version number; an approval binds it, and is withdrawn where it is another at use."""
