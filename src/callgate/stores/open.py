"""Turns a store's URL into the store. The one place that knows their names; loads only the one that is asked for."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from urllib.parse import unquote

from callgate.errors import ConfigurationError
from callgate.ports import Checkpoint, Clock, Store

_FORMS = "memory://, sqlite:///relative.db or sqlite:////absolute.db"
_STORES = {"memory": "MemoryStore", "sqlite": "SqliteStore"}


def open_store(url: str, *, clock: Clock, folder: Path | None = None, looking: bool = False) -> Store:
    """The store a URL names, not opened yet.

    Args:
        url: `memory://`, `sqlite:///relative.db` or `sqlite:////absolute.db`.
        clock: The clock of the gate.
        folder: Where relative paths start; the process's own when absent.
        looking: Whether its stream begins with the first event only, so that looking leaves no trace.

    Raises:
        ConfigurationError: The URL names no store that there is.
    """
    file = file_of(url)
    scheme = url.partition("://")[0]
    # By name, because no store knows another, and one that is not used costs nothing.
    kind = getattr(import_module(f"callgate.stores.{scheme}"), _STORES[scheme])
    return kind(clock=clock) if file is None else kind((folder or Path()) / file, clock=clock, looking=looking)


def is_at(file: Path, store_id: str) -> bool:
    """Whether the store of that id is in a file; True if that cannot be told."""
    return import_module("callgate.stores.sqlite.schema").holds(file, store_id)


def checkpoints_at(file: Path) -> list[Checkpoint] | None:
    """The checkpoints of the store in a file, oldest first; None if they cannot be read."""
    return import_module("callgate.stores.sqlite.reader").checkpoints_in(file)


def file_of(url: str) -> Path | None:
    """The file of the store that a URL names; None for a store in memory.

    Raises:
        ConfigurationError: The URL names no store that there is.
    """
    scheme, separator, rest = url.partition("://")
    if scheme in {"postgresql", "postgres"}:
        raise ConfigurationError(f"PostgreSQL stores are not built yet; use {_FORMS}", key="store")
    if not separator or scheme not in _STORES:
        raise ConfigurationError(f"{_shown(url)} names no store; use {_FORMS}", key="store")
    if scheme != "memory":
        return _path(rest, url=url)
    if rest:
        raise ConfigurationError(f"{_shown(url)}: nothing can follow memory://", key="store")
    return None


def _path(rest: str, *, url: str) -> Path:
    name = unquote(rest[1:])
    if not rest.startswith("/") or not name.strip("/") or name.endswith("/"):
        raise ConfigurationError(f"{_shown(url)} names no file; use {_FORMS}", key="store")
    if "?" in rest or "#" in rest or "\0" in name:
        raise ConfigurationError(f"{_shown(url)}: a store's URL takes no options", key="store")
    return Path(name).expanduser()


def _shown(url: str) -> str:
    """The URL as far as it may be shown: what stands before an @ may be a password."""
    scheme, separator, rest = url.partition("://")
    return repr(f"{scheme}{separator}…@{rest.rpartition('@')[2]}" if "@" in rest else url)
