"""Agents of Pydantic AI whose model follows a script: no network, and every word of it known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic_ai import Agent, DeferredToolRequests
from pydantic_ai.agent import AgentRunResult
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.toolsets import AbstractToolset

Run = AgentRunResult[Any]
Step = str | Sequence[ToolCallPart]


def call(call_id: str, name: str, /, **arguments: Any) -> ToolCallPart:
    """A call as a model makes it."""
    return ToolCallPart(name, arguments, call_id)


class Script:
    """A model that says one step after the other, and what it was shown each time."""

    def __init__(self, *steps: Step) -> None:
        self._steps = steps
        self.offered: list[list[str]] = []

    def agent(self, toolset: AbstractToolset[Any], **options: Any) -> Agent[Any, Any]:
        """An agent with this model and these tools."""
        model = FunctionModel(self._speak)
        return Agent(model, toolsets=[toolset], output_type=[str, DeferredToolRequests], **options)

    def _speak(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        self.offered.append([tool.name for tool in info.function_tools])
        at = sum(isinstance(message, ModelResponse) for message in messages)
        step = self._steps[at]
        return ModelResponse(parts=[TextPart(step)] if isinstance(step, str) else list(step))


def waiting(run: Run) -> dict[str, dict[str, Any]]:
    """The questions that a run ended with, by the id of their call."""
    assert isinstance(run.output, DeferredToolRequests)
    return run.output.metadata


def told(run: Run) -> dict[str, tuple[Any, str]]:
    """What the model read of each call, and how it was marked."""
    parts = [part for message in run.all_messages() for part in message.parts]
    return {part.tool_call_id: (part.content, part.outcome) for part in parts if isinstance(part, ToolReturnPart)}
