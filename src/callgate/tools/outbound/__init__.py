"""Outbound: the one way out of every built-in tool that asks servers. Knows no tool."""
