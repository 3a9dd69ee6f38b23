"""The SDK of the protocol, loaded with the first connection. What it would log of a server's data is held back."""

from __future__ import annotations

import importlib
import logging

from callgate.errors import ConfigurationError

_SPEAKERS = (
    "client",
    "mcp.client.auth.oauth2",
    "mcp.client.session",
    "mcp.client.streamable_http",
    "mcp.shared.jsonrpc_dispatcher",
)
"""Loggers of the SDK that quote what a server sent, and so perhaps a secret."""


def need_sdk() -> None:
    """Load the SDK.

    Raises:
        ConfigurationError: It is not installed; says how to.
    """
    try:
        importlib.import_module("mcp")
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in {"mcp", "mcp_types"}:
            raise
        raise ConfigurationError("MCP servers need the MCP SDK: pip install 'callgate[mcp]'") from error
    for name in _SPEAKERS:
        speaker = logging.getLogger(name)
        if _hold_back not in speaker.filters:
            speaker.addFilter(_hold_back)


def _hold_back(record: logging.LogRecord) -> bool:
    """Tracebacks and debug messages of the SDK quote what a server said; that is noted at the desk, struck."""
    record.exc_info = None
    record.exc_text = None
    return record.levelno > logging.DEBUG
