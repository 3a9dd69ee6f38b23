"""Told: what intents say alike, kept written by decision and asker. One for a gate, and bounded as a whole.

Names and scopes are the caller's words: a bound for each decision would be none for all of them together.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from callgate.model.decision import Decision

Asker = tuple[int | str | None, ...]
"""Who asks for what, behind the identity of the decision."""
_MOST_BYTES = 16 * 1024 * 1024
"""So much is remembered, about; beyond it, remembering starts anew."""
_EACH = 1024
"""What one takes beside its texts."""
_COPIES = 8
"""Bytes per byte of a text: it stands whole and in parts, its names in the key, its reasons in the decision."""


class Alike(NamedTuple):
    """What calls say alike: the whole, its part before a fingerprint and a key, and its part after them."""

    whole: bytes
    before: bytes
    after: bytes
    decision: Decision
    """Held, so that its identity is nobody else's as long as it is remembered."""


class Told:
    """Remembers; asked on every call, in any thread."""

    __slots__ = ("_bytes", "_kept", "_lock", "find")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: dict[Asker, Alike] = {}
        self._bytes = 0
        self.find: Callable[[Asker], Alike | None] = self._kept.get

    def keep(self, asker: Asker, alike: Alike) -> Alike:
        """Remember it; the same one."""
        size = _EACH + _COPIES * len(alike.whole)
        with self._lock:
            if self._bytes + size > _MOST_BYTES:
                self._kept.clear()
                self._bytes = 0
            self._kept[asker] = alike
            self._bytes += size
        return alike
