"""ToolExecutor: three executors' conventions over one gate. It translates, and decides nothing."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, overload

from callgate.adapters.base_tool import ToolCallContext
from callgate.compat.atomic_tool import AtomicTool, ToolContext
from callgate.compat.domain_events import AgentRef, EnvelopeBridge, EventStore, Outbox
from callgate.compat.ground import with_autonomy, with_scopes
from callgate.compat.home import Home, settled
from callgate.compat.json_result import json_result
from callgate.compat.narrowing import NarrowedHome
from callgate.compat.raised import result_or_raise
from callgate.errors import ToolNotFoundError
from callgate.model.call import Call
from callgate.model.context import Context
from callgate.model.levels import Autonomy
from callgate.model.shapes import as_mapping
from callgate.pipeline.time_limit import DEFAULT_SECONDS, check_seconds

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from callgate.model.layer import Layer
    from callgate.model.outcome import Outcome
    from callgate.model.tool import Tool

_SYSTEM = AgentRef(agent_id="system", agent_type="tool_executor")


class ToolExecutor:  # noqa: PLR0904 - three executors in one
    """An executor for code written against `execute`, `run` or `call`.

    Args:
        gate: The open gate that does the work. Without one, a gate with its defaults is opened with the first call;
            `async with ToolExecutor() as executor:`, or `close()`, lets it go.
        context: Who asks where a method takes only a user, and the most that a `ToolContext` or `ToolCallContext` may
            do; `Context()` when left out.
        default_timeout: Seconds for tools that have no limit of their own, in place of the gate's.
        event_store: Told, after each `run`, what was recorded of it; has `append(envelope)`.
        bridge: Told the same, afterwards; has `publish(envelope)`.
        producer: Who stands in these envelopes.

    Raises:
        ValueError: `default_timeout` is not a positive number of seconds.
    """

    DEFAULT_TIMEOUT: ClassVar[float] = DEFAULT_SECONDS

    def __init__(
        self,
        gate: Any = None,
        *,
        context: Context | None = None,
        default_timeout: float | None = None,
        event_store: EventStore | None = None,
        bridge: EnvelopeBridge | None = None,
        producer: Any = None,
    ) -> None:
        if default_timeout is not None:
            check_seconds(default_timeout)
        self._home = Home(gate)
        self._context = context or Context()
        self._default = default_timeout
        told = event_store is not None or bridge is not None
        self._outbox = Outbox(event_store=event_store, bridge=bridge, producer=producer or _SYSTEM) if told else None

    async def __aenter__(self) -> Self:
        await self._home.opened()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Let go of the gate, if it is one of its own."""
        await self._home.close()

    def narrowed(self, layer: Layer) -> Self:
        """The same executor, whose every call is under one more layer, whatever context it is given."""
        other = copy.copy(self)
        other._home = NarrowedHome(self._home, layer)  # noqa: SLF001 - a copy of this very object
        return other

    @property
    def gate(self) -> Any:
        """The gate that does the work: to approve there, and to listen."""
        return self._home.gate

    async def execute(  # noqa: PLR0917 - the convention's own signature
        self, name: str, arguments: Mapping[str, Any], user_id: str, timeout: float | None = None
    ) -> str:
        """Call a tool for a user; the output as JSON text, or an error as JSON text."""
        await self._home.opened()
        who = self._for(user_id)
        limit = self._limit(name, who, timeout)
        return json_result(await settled(self._home.call(name, arguments, who, timeout=limit)))

    @overload
    async def execute_batch(
        self,
        tool_calls: Sequence[Any],
        user_id: str,
        timeout: float | None = None,
        *,
        include_call_ids: Literal[False] = False,
    ) -> list[str]: ...
    @overload
    async def execute_batch(
        self, tool_calls: Sequence[Any], user_id: str, timeout: float | None = None, *, include_call_ids: Literal[True]
    ) -> list[tuple[str, str]]: ...
    async def execute_batch(  # noqa: PLR0917 - as above
        self,
        tool_calls: Sequence[Any],
        user_id: str,
        timeout: float | None = None,
        *,
        include_call_ids: bool = False,
    ) -> list[str] | list[tuple[str, str]]:
        """Make several calls (`{"name", "arguments", "id"}`); JSON texts in their order, or (id, text) pairs."""
        gate = await self._home.opened()
        who = self._for(user_id)
        calls = [self._as_call(item, who, timeout) for item in tool_calls]
        pairs = await settled(gate.batch(calls, who, include_call_ids=True))
        results = [(call_id, json_result(outcome)) for call_id, outcome in pairs]
        return results if include_call_ids else [text for _, text in results]

    def get_timeout(self, tool_name: str, override: float | None = None, user_id: str | None = None) -> float:  # noqa: PLR0917
        """Seconds a call may take: override, then the user's, the tool's, the instance's, then 30.

        Raises:
            ValueError: The override is not a positive number of seconds.
            ConfigurationError: The gate is not open.
        """
        return self.gate.time_limit(tool_name, self._for(user_id), timeout=override, instance=self._default)

    async def run(self, tool: Tool | AtomicTool | str, context: Context | ToolContext, /, **kwargs: Any) -> Any:
        """Call a tool and give its output; no argument's name collides with a parameter of ours.

        An atomic tool that the gate does not have yet is added to it first.

        Raises:
            ToolExecutionError: Nothing is bound to the atomic tool.
            ConfigurationError: The atomic tool cannot be added, or its name is another's.
            ToolError: It was refused or did not end in time; typed.
            Exception: What the handler raised, the very object.
        """
        gate = await self._home.opened()
        who = context.as_context(self._context) if isinstance(context, ToolContext) else context
        if isinstance(tool, AtomicTool) and not self._has(tool):
            gate.add(tool.as_tool())
        name = tool if isinstance(tool, str) else tool.name
        outcome = await settled(self._home.call(name, kwargs, who, timeout=self._limit(name, who, None)))
        if self._outbox is not None:
            await self._outbox.hand_on(await self._home.events_of(outcome.call_id))
        return result_or_raise(outcome)

    def call(  # noqa: PLR0917 - as above
        self, tool_name: str, action: str, request: Mapping[str, Any], context: Context | ToolCallContext
    ) -> Any:
        """Call an action of a tool (`gmail`, `send` is the tool `gmail.send`) and give its output.

        Over an async gate, and over one of its own, it has to be awaited; over `Callgate.open_sync()` it has not.

        Raises:
            ApprovalRequired: A person has to decide first.
            PreviewRequired: It was shown, not run.
            ToolError: Anything else but a success.
        """
        name = f"{tool_name}.{action}" if action else tool_name
        who = self._as_asked(context) if isinstance(context, ToolCallContext) else context
        outcome = self._home.call(name, request, who)
        return _later(outcome) if hasattr(outcome, "__await__") else outcome.unwrap()

    def _as_asked(self, context: ToolCallContext) -> Context:
        level = None if context.autonomy_level is None else Autonomy(Autonomy.parse(context.autonomy_level))
        return replace(
            with_scopes(with_autonomy(self._context, level), context.granted_scopes),
            trace_id=context.trace_id,
            task_id=context.task_id,
            step_id=context.step_id,
            idempotency_key=context.idempotency_key,
        )

    def _has(self, tool: AtomicTool) -> bool:
        try:
            return self.gate.tool(tool.name).id == tool.tool_id
        except ToolNotFoundError:
            return False

    def _for(self, user_id: str | None) -> Context:
        return self._context if user_id is None else replace(self._context, user=user_id)

    def _limit(self, name: Any, who: Context, timeout: float | None) -> float | None:  # noqa: PLR0917 - told apart by type
        """The call's own limit; the gate works it out, except where this executor has a default of its own."""
        if timeout is not None or self._default is None or not isinstance(name, str):
            return timeout
        return self.gate.time_limit(name, who, instance=self._default)

    def _as_call(self, item: Any, who: Context, timeout: float | None) -> Any:  # noqa: PLR0917 - as above
        """The element as a call with its limit; whether it is one at all, the batch says."""
        body = as_mapping(item)
        if body is None:
            return item
        name: Any = body.get("name")
        limit = self._limit(name, who, timeout)
        return Call(name, body.get("arguments"), id=body.get("id"), timeout=limit)  # pyright: ignore[reportArgumentType]


async def _later(outcome: Awaitable[Outcome]) -> Any:
    return (await outcome).unwrap()
