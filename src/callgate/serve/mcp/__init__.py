"""The gate as an MCP server, over streamable HTTP and stdio. The SDK speaks; every call goes through the gate."""
