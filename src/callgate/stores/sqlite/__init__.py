"""The store in one SQLite file: the default, durable, for one process or several on one host."""

from callgate.stores.sqlite.store import SqliteStore

__all__ = ["SqliteStore"]
