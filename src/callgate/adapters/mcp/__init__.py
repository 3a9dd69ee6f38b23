"""MCP servers as a source of tools. Importing this loads no SDK; the first connection does."""

from callgate.adapters.mcp.client_files import McpServers
from callgate.adapters.mcp.oauth.asking import OAuth
from callgate.adapters.mcp.server import McpServer

__all__ = ["McpServer", "McpServers", "OAuth"]
