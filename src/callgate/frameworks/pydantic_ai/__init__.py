"""Pydantic AI: a toolset whose every call goes through a gate, and whose questions are the framework's own pauses."""

from callgate.errors import ConfigurationError

try:
    from callgate.frameworks.pydantic_ai.toolset import GateToolset
except ModuleNotFoundError as error:
    if (error.name or "").partition(".")[0] == "pydantic_ai":
        raise ConfigurationError("Pydantic AI is not installed: pip install 'callgate[pydantic-ai]'") from error
    raise

__all__ = ["GateToolset"]
