"""Numbers of things in words. Knows nothing of what is counted."""

from __future__ import annotations


def counted(number: int, word: str) -> str:
    """`1 call`, `2 calls`."""
    return f"{number} {word}" if number == 1 else f"{number} {word}s"
