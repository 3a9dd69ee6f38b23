"""How messages of MCP go over pipes, for the doors: they know nothing of what stands behind the runtime."""

from callgate.adapters.mcp.lines import LARGEST_MESSAGE, Incoming, LinesEnded, Outgoing, read_message

__all__ = ["LARGEST_MESSAGE", "Incoming", "LinesEnded", "Outgoing", "read_message"]
