"""What a forked child does with its parent's stores: nothing, for ever."""

from __future__ import annotations

import ctypes
import os
import weakref
from typing import Any, Protocol


class Forkable(Protocol):
    """A store that can be left behind."""

    def abandon(self) -> None:
        """Let go without touching what the parent uses."""
        ...


_stores: weakref.WeakSet[Any] = weakref.WeakSet()


def watch(store: Forkable) -> None:
    """Have a store abandoned in every child forked from now on."""
    _stores.add(store)


def unwatch(store: Forkable) -> None:
    """It is closed; a child has nothing of it."""
    _stores.discard(store)


def leak(value: object) -> None:
    """Never free a value: closing an inherited connection would touch files and mutexes that are the parent's."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(value))


def _abandon_all() -> None:
    for store in list(_stores):
        store.abandon()
    _stores.clear()


os.register_at_fork(after_in_child=_abandon_all)
