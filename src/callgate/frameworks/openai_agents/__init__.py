"""OpenAI Agents SDK: the pool of an asker as function tools, and the SDK's interruptions as the gate's questions."""

from callgate.frameworks.extra import not_installed

try:
    import agents.tool_context  # noqa: F401  # pyright: ignore[reportUnusedImport] - to say how it is installed
except ImportError as error:
    raise not_installed(error, framework="the OpenAI Agents SDK", package="agents", extra="agents") from error

from callgate.frameworks.openai_agents.gate_tools import GateTools, Question

__all__ = ["GateTools", "Question"]
