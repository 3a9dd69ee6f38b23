"""Births: when a file came to be, which no program can make other than it is; a time of change moves with any change.

Python cannot ask that of Linux yet, so the system's own library is asked.
"""

from __future__ import annotations

import ctypes
import os
import struct

_BIRTH = 0x800
"""What is asked for, and said to be there (STATX_BTIME)."""
_NO_FOLLOW = 0x100
_ASKED = struct.Struct("=I76xqI")
"""What of the answer counts: what it has, and the birth in seconds and billionths."""
_ANSWER_BYTES = 256


def born(name: str, folder: int) -> float | None:
    """When what has that name in an open directory was made, a link for itself; None where nobody knows."""
    ask = getattr(ctypes.CDLL(None, use_errno=True), "statx", None)
    if ask is None:  # pragma: no cover - a library from before 2018
        return None
    answer = ctypes.create_string_buffer(_ANSWER_BYTES)
    if ask(folder, os.fsencode(name), _NO_FOLLOW, _BIRTH, answer):
        return None
    has, seconds, billionths = _ASKED.unpack_from(answer.raw)
    return seconds + billionths / 1e9 if has & _BIRTH else None
