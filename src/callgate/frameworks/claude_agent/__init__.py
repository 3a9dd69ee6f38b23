"""Claude Agent SDK: the pool of an asker as an in-process MCP server, and the host's own tools judged by the gate."""

from callgate.frameworks.extra import not_installed

try:
    import claude_agent_sdk  # noqa: F401  # pyright: ignore[reportUnusedImport] - to say how it is installed
except ImportError as error:
    raise not_installed(error, framework="the Claude Agent SDK", package="claude_agent_sdk", extra="claude") from error

from callgate.frameworks.claude_agent.claude_gate import ClaudeGate
from callgate.frameworks.claude_agent.host_tools import HOST_NAMES, host_tools

__all__ = ["HOST_NAMES", "ClaudeGate", "host_tools"]
