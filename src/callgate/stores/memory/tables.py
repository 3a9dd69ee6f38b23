"""The memory store's tables, and the undo log that makes a unit of work all or nothing. Knows no events."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable
from typing import Any

from callgate.model.approval import Approval, Grant
from callgate.model.attempt import Attempt, AttemptKey
from callgate.ports import Checkpoint, Reading

_ABSENT: Any = object()

Fingerprinted = tuple[str, str, str]
"""Principal, session, fingerprint."""


class Tables:
    """Dictionaries whose changes are logged. Values are replaced, never changed in place, so that undoing is exact."""

    def __init__(self) -> None:
        self.attempts: dict[AttemptKey, Attempt] = {}
        self.calls: dict[str, AttemptKey] = {}
        self.unresolved: dict[Fingerprinted, tuple[AttemptKey, ...]] = {}
        self.succeeded: dict[Fingerprinted, float] = {}
        """When an equal call last succeeded."""
        self.approvals: dict[str, Approval] = {}
        self.latest: dict[tuple[str, str, str, str], str] = {}
        """The newest approval by principal, session, tool and asked fingerprint; none of a plan."""
        self.keyed: dict[tuple[str, str, str, str, str], str] = {}
        """The same by key as well, those of plans too."""
        self.plans: dict[str, tuple[str, ...]] = {}
        """The approvals of a plan."""
        self.planned: dict[Fingerprinted, str] = {}
        """The newest plan by principal, session and digest."""
        self.pending: dict[tuple[str, str], dict[str, tuple[float, str]]] = {}
        """When the questions end that wait, and the plan or approval they are, by principal and session, then by id."""
        self.grants: dict[str, Grant] = {}
        self.sealed: dict[str, tuple[bytes, float | None]] = {}
        self.checkpoints: dict[str, Checkpoint] = {}
        self.readings: dict[tuple[str, str, str], Reading] = {}
        self.meta: dict[str, str] = {}
        self.projections: dict[str, dict[str, bytes]] = {}
        self.documents: dict[str, dict[str, bytes]] = {}
        """What tools keep, by area and key."""
        self._orders: dict[str, list[str]] = {}
        """The keys of an area, sorted, where somebody listed them."""
        self._undo: list[Callable[[], None]] = []

    def put(self, table: dict[Any, Any], key: Any, value: Any) -> None:  # noqa: PLR0917
        """Set an entry; undone by `rollback`."""
        old = table.get(key, _ABSENT)
        table[key] = value
        self._undo.append(lambda: _restore(table, key, old))

    def drop(self, table: dict[Any, Any], key: Any) -> None:
        """Remove an entry that is there; undone by `rollback`, at the end of the table's order."""
        old = table.pop(key)
        self._undo.append(lambda: _restore(table, key, old))

    def order(self, area: str) -> list[str]:
        """The keys of an area's documents, sorted; not to be changed."""
        found = self._orders.get(area)
        if found is None:
            found = self._orders[area] = sorted(self.documents.get(area, ()))
        return found

    def put_document(self, area: str, key: str, body: bytes) -> None:  # noqa: PLR0917
        """Set a document; undone by `rollback`."""
        if area not in self.documents:
            self.put(self.documents, area, {})
        if key not in self.documents[area]:
            insort(self.order(area), key)
        self._undo.append(lambda: self._disorder(area))
        self.put(self.documents[area], key, body)

    def drop_document(self, area: str, key: str) -> bool:
        """Remove a document; undone by `rollback`. Whether it was there."""
        if key not in self.documents.get(area, {}):
            return False
        order = self.order(area)
        del order[bisect_left(order, key)]
        self._undo.append(lambda: self._disorder(area))
        self.drop(self.documents[area], key)
        return True

    def _disorder(self, area: str) -> None:
        self._orders.pop(area, None)

    def begin(self) -> None:
        """From here on changes are one unit."""
        self._undo.clear()

    def rollback(self) -> None:
        """Take back every change since `begin`."""
        while self._undo:
            self._undo.pop()()


def _restore(table: dict[Any, Any], key: Any, old: Any) -> None:  # noqa: PLR0917
    if old is _ABSENT:
        del table[key]
    else:
        table[key] = old
