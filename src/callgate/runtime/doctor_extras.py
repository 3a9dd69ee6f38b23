"""The extras of this package, for the doctor: what each gives, and whether it is installed."""

from __future__ import annotations

from importlib import metadata
from typing import NamedTuple


class Extra(NamedTuple):
    """One of them."""

    package: str
    gives: str

    def version(self) -> str | None:
        """What is installed of it; None if nothing is."""
        try:
            return metadata.version(self.package)
        except metadata.PackageNotFoundError:
            return None


EXTRAS = {
    "agents": Extra("openai-agents", "tools for the OpenAI Agents SDK"),
    "cel": Extra("common-expression-language", "conditions (`when:`) in policies"),
    "claude": Extra("claude-agent-sdk", "tools for the Claude Agent SDK"),
    "keyring": Extra("keyring", "secrets in the system's keyring"),
    "langchain": Extra("langchain-core", "LangChain's tools, in and out"),
    "langgraph": Extra("langgraph", "the tool node for LangGraph"),
    "mcp": Extra("mcp", "tools of MCP servers (`mcp_servers:`)"),
    "programs": Extra("pydantic-monty", "programs that a model wrote, in a sandbox"),
    "pydantic-ai": Extra("pydantic-ai-slim", "a toolset for Pydantic AI"),
    "reload": Extra("watchfiles", "plugins that load again when their files change"),
    "trees": Extra("py-trees", "tools as leaves of behaviour trees"),
}
"""Every extra of pyproject.toml but `all`."""
