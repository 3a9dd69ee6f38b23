"""Graphs of LangGraph whose model follows a script: no network, and every word of it known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph  # pyright: ignore[reportMissingTypeStubs] - it has hints
from langgraph.prebuilt import (
    create_react_agent,  # pyright: ignore[reportDeprecated, reportUnknownVariableType] - those who use it still do
    tools_condition,
)
from pydantic import Field
from typing_extensions import override

from callgate.frameworks.langgraph import GateToolNode

THREAD: Any = {"configurable": {"thread_id": "t1"}}


def call(call_id: str, name: str, /, **arguments: Any) -> dict[str, Any]:
    """A call as a model makes it."""
    return {"type": "tool_call", "id": call_id, "name": name, "args": arguments}


def asking(*calls: dict[str, Any]) -> AIMessage:
    """A message that asks for calls."""
    return AIMessage("", tool_calls=list(calls))


class Model(GenericFakeChatModel):
    """Says one message after the other; `bound` has the tools it was bound to."""

    bound: list[str] = Field(default_factory=list)

    @override
    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Any:
        self.bound[:] = [tool.name for tool in tools]
        return self


def graph(node: GateToolNode, *steps: AIMessage, saver: InMemorySaver | None = None) -> Any:
    """A model that says these, and the node, in turns, until the model asks for nothing."""

    def speak(state: MessagesState) -> dict[str, Any]:
        said = sum(isinstance(message, AIMessage) for message in state["messages"])
        return {"messages": [steps[said].model_copy(deep=True) if said < len(steps) else AIMessage("done")]}

    built: Any = StateGraph(MessagesState)
    built.add_node("agent", speak)
    built.add_node("tools", node)
    built.add_edge(START, "agent")
    built.add_conditional_edges("agent", tools_condition)
    built.add_edge("tools", "agent")
    return built.compile(checkpointer=saver or InMemorySaver())


def ready_made(model: Model, node: GateToolNode, *, version: Any) -> Any:
    """LangGraph's own agent."""
    make: Any = create_react_agent  # pyright: ignore[reportDeprecated, reportUnknownVariableType] - as above
    return make(model, node, checkpointer=InMemorySaver(), version=version)


def hello() -> dict[str, Any]:
    """What a graph is started with."""
    return {"messages": [("user", "Go on.")]}


def question(state: dict[str, Any]) -> dict[str, Any]:
    """The question that a graph was interrupted with."""
    [found] = state["__interrupt__"]
    return found.value


def results(state: dict[str, Any]) -> dict[str, tuple[str, str]]:
    """What the model read of each call, and how it was marked."""
    messages = [message for message in state["messages"] if isinstance(message, ToolMessage)]
    return {message.tool_call_id: (str(message.content), message.status) for message in messages}
