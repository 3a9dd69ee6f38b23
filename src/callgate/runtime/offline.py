"""What can be done without opening a gate: finding a store, checking a configuration, verifying evidence."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import unquote

from callgate.runtime.assemble import DEFAULT_STORE
from callgate.runtime.clock import SystemClock
from callgate.settings.schema import json_schema
from callgate.stores.open import open_store

__all__ = ["DEFAULT_STORE", "policy_schema", "store_exists", "store_file"]

_FILE = "sqlite:///"


def store_file(url: str) -> Path | None:
    """The database of a store; None for a store in memory.

    Raises:
        ConfigurationError: The URL names no store.
    """
    open_store(url, clock=SystemClock())
    return Path(unquote(url.removeprefix(_FILE))).expanduser().absolute() if url.startswith(_FILE) else None


def store_exists(url: str) -> bool:
    """Whether there is anything to open; a store in memory always is.

    Raises:
        ConfigurationError: The URL names no store.
    """
    file = store_file(url)
    return file is None or file.exists()


def policy_schema() -> dict[str, Any]:
    """The JSON Schema of the configuration, for editors."""
    return json_schema()
