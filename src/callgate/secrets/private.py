"""Private: what holds key material or secrets shows its name at most, and cannot be copied or written out."""

from __future__ import annotations

from typing import NoReturn


class Private:
    """A class whose objects stay in this process."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError(f"{type(self).__name__} is private to this process: it is neither copied nor pickled")
