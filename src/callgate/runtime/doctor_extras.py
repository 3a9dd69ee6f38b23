"""The extras of this package, for the doctor: what each gives, and whether it is installed."""

from __future__ import annotations

from importlib import metadata
from typing import NamedTuple


class Extra(NamedTuple):
    """One of them."""

    gives: str
    packages: tuple[str, ...]

    @property
    def missing(self) -> list[str]:
        """The packages of it that are not installed."""
        return [package for package in self.packages if _version(package) is None]

    @property
    def installed(self) -> list[str]:
        """The others, with their versions."""
        versions = ((package, _version(package)) for package in self.packages)
        return [f"{package} {version}" for package, version in versions if version is not None]


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


EXTRAS = {
    "agents": Extra("tools for the OpenAI Agents SDK", ("openai-agents",)),
    "archives": Extra("built-in tools for archives", ("py7zr",)),
    "cel": Extra("conditions (`when:`) in policies", ("common-expression-language",)),
    "claude": Extra("tools for the Claude Agent SDK", ("claude-agent-sdk",)),
    "code": Extra("built-in tools for code", ("pydantic-monty", "pytest", "ruff")),
    "data": Extra("built-in tools for data", ("jmespath", "pillow", "texicode")),
    "duckdb": Extra("built-in tools that query tables", ("duckdb",)),
    "files": Extra("built-in tools for files", ("ripgrep",)),
    "intelligence": Extra(
        "built-in tools that know code",
        (
            "jedi",
            "tree-sitter",
            "tree-sitter-c",
            "tree-sitter-cpp",
            "tree-sitter-go",
            "tree-sitter-java",
            "tree-sitter-javascript",
            "tree-sitter-python",
            "tree-sitter-ruby",
            "tree-sitter-rust",
            "tree-sitter-typescript",
        ),
    ),
    "keyring": Extra("secrets in the system's keyring", ("keyring",)),
    "langchain": Extra("LangChain's tools, in and out", ("langchain-core",)),
    "langgraph": Extra("the tool node for LangGraph", ("langgraph",)),
    "language": Extra("built-in tools for language, without a server", ("numpy", "wordllama")),
    "maths": Extra("built-in tools for mathematics", ("numpy", "scipy", "sympy")),
    "mcp": Extra("tools of MCP servers (`mcp_servers:`)", ("mcp",)),
    "observe": Extra(
        "metrics, and spans of OpenTelemetry",
        ("opentelemetry-exporter-otlp-proto-http", "opentelemetry-sdk", "prometheus-client"),
    ),
    "programs": Extra("programs that a model wrote, in a sandbox", ("pydantic-monty",)),
    "pydantic-ai": Extra("a toolset for Pydantic AI, and the built-in agents", ("pydantic-ai-slim",)),
    "reload": Extra("plugins that load again when their files change", ("watchfiles",)),
    "serve": Extra(
        "console, HTTP API and MCP on a port (`callgate serve`)",
        (
            "fastapi",
            "httptools",
            "httpx2",
            "jinja2",
            "mcp",
            "prometheus-client",
            "pyjwt",
            "python-multipart",
            "uvicorn",
            "uvloop",
        ),
    ),
    "trees": Extra("tools as leaves of behaviour trees", ("py-trees",)),
    "web": Extra("built-in tools for the web", ("httpx2", "selectolax", "trafilatura")),
}
"""Every extra of pyproject.toml but `all`."""
