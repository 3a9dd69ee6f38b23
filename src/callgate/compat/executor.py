"""ToolExecutor: three executors' conventions over one gate. It translates, and decides nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, overload

from callgate.adapters.base_tool import ToolCallContext
from callgate.compat.atomic_tool import AtomicTool, ToolContext
from callgate.compat.json_result import json_result
from callgate.compat.raised import result_or_raise
from callgate.errors import ToolNotFoundError
from callgate.model.call import Call
from callgate.model.context import Context
from callgate.model.levels import Autonomy
from callgate.model.shapes import as_mapping

if TYPE_CHECKING:
    from callgate.model.layer import Layer
    from callgate.model.tool import Tool
    from callgate.runtime.gate import Callgate


class ToolExecutor:
    """An executor for code written against `execute`, `run` or `call`.

    Args:
        gate: The open gate that does the work.
        context: Who asks where a method takes only a user; `Context()` when left out.
        layers: What every call is under besides, whatever context it is given.
    """

    def __init__(self, gate: Callgate, *, context: Context | None = None, layers: tuple[Layer, ...] = ()) -> None:
        self._gate = gate
        self._context = context or Context()
        self._layers = layers

    def narrowed(self, layer: Layer) -> ToolExecutor:
        """The same executor, whose every call is under one more layer, whatever context it is given."""
        return ToolExecutor(self._gate, context=self._context, layers=(*self._layers, layer))

    async def execute(  # noqa: PLR0917 - the convention's own signature
        self, name: str, arguments: Mapping[str, Any], user_id: str, timeout: float | None = None
    ) -> str:
        """Call a tool for a user; the output as JSON text, or an error as JSON text."""
        outcome = await self._gate.call(name, arguments, self._under(self._for(user_id)), timeout=timeout)
        return json_result(outcome)

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
        calls = [_as_call(item, timeout) for item in tool_calls]
        pairs = await self._gate.batch(calls, self._under(self._for(user_id)), include_call_ids=True)
        results = [(call_id, json_result(outcome)) for call_id, outcome in pairs]
        return results if include_call_ids else [text for _, text in results]

    def get_timeout(self, tool_name: str, override: float | None = None, user_id: str | None = None) -> float:  # noqa: PLR0917
        """Seconds a call may take: override, then the user's, the tool's, the instance's, then 30.

        Raises:
            ValueError: The override is not a positive number of seconds.
        """
        return self._gate.time_limit(tool_name, self._for(user_id), timeout=override)

    async def run(self, tool: Tool | AtomicTool | str, context: Context | ToolContext, /, **kwargs: Any) -> Any:
        """Call a tool and give its output; no argument's name collides with a parameter of ours.

        An atomic tool that the gate does not have yet is added to it first.

        Raises:
            ToolExecutionError: Nothing is bound to the atomic tool.
            ConfigurationError: The atomic tool cannot be added, or its name is another's.
            ToolError: It was refused or did not end in time; typed.
            Exception: What the handler raised, the very object.
        """
        who = context.as_context(self._context) if isinstance(context, ToolContext) else context
        if isinstance(tool, AtomicTool) and not self._has(tool):
            self._gate.add(tool.as_tool())
        outcome = await self._gate.call(tool if isinstance(tool, str) else tool.name, kwargs, self._under(who))
        return result_or_raise(outcome)

    async def call(  # noqa: PLR0917 - as above
        self, tool_name: str, action: str, request: Mapping[str, Any], context: Context | ToolCallContext
    ) -> Any:
        """Call an action of a tool (`gmail`, `send` is the tool `gmail.send`) and give its output.

        Raises:
            ApprovalRequired: A person has to decide first.
            PreviewRequired: It was shown, not run.
            ToolError: Anything else but a success.
        """
        name = f"{tool_name}.{action}" if action else tool_name
        who = self._as_asked(context) if isinstance(context, ToolCallContext) else context
        return (await self._gate.call(name, request, self._under(who))).unwrap()

    def _as_asked(self, context: ToolCallContext) -> Context:
        return replace(
            self._context,
            trace_id=context.trace_id,
            task_id=context.task_id,
            step_id=context.step_id,
            idempotency_key=context.idempotency_key,
            autonomy=None if context.autonomy_level is None else Autonomy.parse(context.autonomy_level),
            scopes=context.granted_scopes,
        )

    def _has(self, tool: AtomicTool) -> bool:
        try:
            return self._gate.tool(tool.name).id == tool.tool_id
        except ToolNotFoundError:
            return False

    def _under(self, context: Context) -> Context:
        return context.narrow(layers=self._layers) if self._layers else context

    def _for(self, user_id: str | None) -> Context:
        return self._context if user_id is None else replace(self._context, user=user_id)


def _as_call(item: Any, timeout: float | None) -> Any:
    """The element as a call with its limit; whether it is one at all, the batch says."""
    body = as_mapping(item)
    if body is None:
        return item
    return Call(body.get("name"), body.get("arguments"), id=body.get("id"), timeout=timeout)  # pyright: ignore[reportArgumentType]
