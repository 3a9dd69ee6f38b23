"""Whole-file locks that end with their process, on POSIX and on Windows."""

from __future__ import annotations

import sys

if sys.platform == "win32":  # pragma: no cover - the other branch's twin
    import msvcrt

    def take(handle: int) -> bool:
        """Lock for ourselves; False if somebody has it."""
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def probe(handle: int) -> bool:
        """Whether nobody has it."""
        return take(handle)
else:
    import fcntl

    def take(handle: int) -> bool:
        """Lock for ourselves; False if somebody has it."""
        return _lock(handle, fcntl.LOCK_EX)

    def probe(handle: int) -> bool:
        """Whether nobody has it; any number may ask at once."""
        return _lock(handle, fcntl.LOCK_SH)

    def _lock(handle: int, kind: int) -> bool:
        try:
            fcntl.flock(handle, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
