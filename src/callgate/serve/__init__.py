"""Serve: the doors that are reached over a network. HTTP API, console and MCP, on one port, in front of one gate."""
