"""The class of exported tools. Loading this module loads LangChain; only `export` does."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal, Self, cast

from langchain_core.messages import ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, StructuredTool, ToolException
from pydantic import PrivateAttr
from typing_extensions import override

from callgate.adapters.langchain.choices import Choices, Door
from callgate.model.context import Context
from callgate.model.outcome import Outcome, Pending, Succeeded
from callgate.model.tool import Tool

Answer = tuple[Any, Outcome]


class OutcomeError(ToolException):
    """A call through a gate that did not succeed; `outcome` says how it ended."""

    def __init__(self, text: str, outcome: Outcome) -> None:
        super().__init__(text)
        self.outcome = outcome


class GateTool(StructuredTool):
    """A tool of a gate, for LangChain. Its artifact is the `Outcome`. Made by `to_langchain`."""

    response_format: Literal["content", "content_and_artifact"] = "content_and_artifact"
    _tool: Tool = PrivateAttr()
    _door: Door = PrivateAttr()
    _choices: Choices = PrivateAttr()

    @classmethod
    def of(cls, tool: Tool, *, name: str, door: Door, choices: Choices) -> Self:
        """One tool of a gate, its schema as it is."""
        made = cls(
            name=name,
            description=tool.description,
            args_schema=copy.deepcopy(tool.input_schema),
            handle_tool_error=choices.handle_tool_error,
        )
        made._tool, made._door, made._choices = tool, door, choices
        return made

    @property
    @override
    def args(self) -> dict[str, Any]:
        """The properties of the schema, also where it has none."""
        return dict(cast("dict[str, Any]", self.args_schema).get("properties", {}))

    @override
    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        # StructuredTool would send a tool without a coroutine of its own to a thread.
        return await BaseTool.ainvoke(self, input, config, **kwargs)

    @override
    def _to_args_and_kwargs(self, tool_input: Any, tool_call_id: str | None) -> tuple[Any, dict[str, Any]]:
        """One mapping, so that no argument's name can collide with LangChain's own, and the id of the call."""
        if isinstance(tool_input, str):
            tool_input = self._parse_input(tool_input, tool_call_id)
        return (tool_input, tool_call_id), {}

    @override
    def _run(self, arguments: Any, call_id: str | None, *, config: RunnableConfig) -> Answer:  # pyright: ignore[reportIncompatibleMethodOverride]
        context, wait = self._context(config, call_id), self._choices.wait
        outcome = self._door.call_blocking(self._tool.name, arguments, context=context, wait=wait)
        if self._ask(outcome):
            outcome = self._door.call_blocking(self._tool.name, arguments, context=context, wait=wait)
        return self._told(outcome, call_id)

    @override
    async def _arun(self, arguments: Any, call_id: str | None, *, config: RunnableConfig) -> Answer:  # pyright: ignore[reportIncompatibleMethodOverride]
        context, wait = self._context(config, call_id), self._choices.wait
        outcome = await self._door.call(self._tool.name, arguments, context=context, wait=wait)
        if self._ask(outcome):
            outcome = await self._door.call(self._tool.name, arguments, context=context, wait=wait)
        return self._told(outcome, call_id)

    def _ask(self, outcome: Outcome) -> bool:
        """Whether somebody was asked, so that the call is worth making once more."""
        if not isinstance(outcome, Pending) or self._choices.on_pending is None:
            return False
        self._choices.on_pending(outcome)
        return True

    def _context(self, config: RunnableConfig, call_id: str | None) -> Context:
        given = self._choices.context
        context = given if isinstance(given, Context) else given(cast("Mapping[str, Any]", config))
        if not call_id or not self._choices.keys or self._tool.read_only:
            # Reading again is no harm, and an old answer might be; a key of the context cannot stand for every call.
            return replace(context, idempotency_key=None)
        thread = config.get("configurable", {}).get("thread_id")
        key = self._door.key(_writable(call_id), context, thread=None if thread is None else _writable(str(thread)))
        return replace(context, idempotency_key=key)

    def _told(self, outcome: Outcome, call_id: str | None) -> Answer:
        kept, reply = _kept(outcome), self._door.reply(outcome)
        if isinstance(outcome, Succeeded):
            return (outcome.value if call_id is None else reply.text), kept
        if reply.is_error or (call_id is None and not self.handle_tool_error):
            if call_id is None or self.handle_tool_error is not True:
                raise OutcomeError(reply.text, kept) from outcome.cause
            told = ToolMessage(reply.text, name=self.name, tool_call_id=call_id, status="error", artifact=kept)
            return told, kept
        return reply.text, kept


def _kept(outcome: Outcome) -> Outcome:
    """The outcome as data: messages are stored and sent, so what belongs to this process has no place in them."""
    return replace(outcome, cause=None, decision=None if outcome.decision is None else replace(outcome.decision))


def _writable(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()
