"""What can be done without opening a gate: finding a store, checking a configuration, verifying evidence."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from callgate.runtime.assemble import DEFAULT_STORE
from callgate.runtime.clock import SystemClock
from callgate.settings.schema import json_schema
from callgate.stores.open import open_store

if TYPE_CHECKING:
    pass

__all__ = ["DEFAULT_STORE", "policy_schema", "store_exists", "store_paths"]


def store_paths(url: str, folder: Path) -> tuple[Path, ...]:
    """The files of a store, its database first; none for a store in memory.

    Raises:
        ConfigurationError: The URL names no store.
    """
    return tuple(open_store(url, clock=SystemClock(), folder=folder).paths)


def store_exists(url: str, folder: Path) -> bool:
    """Whether there is anything to open; a store in memory always is.

    Raises:
        ConfigurationError: The URL names no store.
    """
    paths = store_paths(url, folder)
    return not paths or paths[0].exists()


def policy_schema() -> dict[str, Any]:
    """The JSON Schema of the configuration, for editors."""
    return json_schema()
