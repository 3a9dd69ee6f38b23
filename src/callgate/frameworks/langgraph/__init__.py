"""LangGraph: a node whose every tool call goes through a gate, and whose questions are the graph's own interrupts."""

from callgate.errors import ConfigurationError

try:
    from callgate.frameworks.langgraph.tool_node import GateToolNode
except ModuleNotFoundError as error:
    if (error.name or "").partition(".")[0] in {"langgraph", "langchain_core"}:
        raise ConfigurationError("LangGraph is not installed: pip install 'callgate[langgraph]'") from error
    raise

__all__ = ["GateToolNode"]
