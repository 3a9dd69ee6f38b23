"""The blackboard as one leaf sees it: the keys it reads and those it writes, and no others. Needs py_trees."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from py_trees.blackboard import Blackboard, Client
from py_trees.common import Access

EXECUTOR = "tool_executor"
USER = "user_id"
RESERVED = frozenset({EXECUTOR, USER})
"""Keys that say who calls and for whom; no result is ever written there."""


class Board:
    """A client of the blackboard.

    Args:
        client: Whose access it is.
        reads: Keys that may be read.
        writes: Keys that may be written.

    Raises:
        ValueError: A key is none, or must not be written.
    """

    def __init__(self, client: Client, *, reads: Iterable[str], writes: Iterable[str]) -> None:
        self._client = client
        self._namespace: str = client.namespace
        for key in (EXECUTOR, USER, *reads):
            self._register(key, Access.READ)
        self._client.register_key(key=f"/{EXECUTOR}", access=Access.READ)
        self._client.register_key(key=f"/{USER}", access=Access.READ)
        for key in writes:
            if key.rpartition("/")[2] in RESERVED:
                message = f"{key} says who calls; no result is written there"
                raise ValueError(message)
            self._register(key, Access.WRITE)

    def read(self, key: str) -> Any:
        """The value of a key.

        Raises:
            KeyError: It has none.
        """
        # By its absolute name: `name` or `read` alone are the client's own attributes.
        return self._client.get(self._absolute(key))

    def find(self, key: str) -> Any:
        """The value of a key, here or at the top; None if it has none."""
        for place in (self._absolute(key), f"/{key}"):
            try:
                return self._client.get(place)
            except KeyError:
                continue
        return None

    def write(self, key: str, value: Any) -> None:
        """Set a key."""
        self._client.set(self._absolute(key), value)

    def clear(self, key: str) -> None:
        """Remove a key, if it is there."""
        self._client.unset(self._absolute(key))

    def _register(self, key: str, access: Access) -> None:
        # A dot would be read as an attribute of whatever lies under the key.
        if not key or "." in key:
            message = f"{key!r} is no key of a blackboard"
            raise ValueError(message)
        self._client.register_key(key=self._absolute(key), access=access)

    def _absolute(self, key: str) -> str:
        return Blackboard.absolute_name(self._namespace, key)
