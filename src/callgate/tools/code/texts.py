"""Texts: what a program said, as a text of bounded length."""

from __future__ import annotations


def told(output: bytes, most: int) -> tuple[str, bool]:
    """The beginning of an output, and whether there was more."""
    text = output.decode(errors="replace").replace("\0", "\N{REPLACEMENT CHARACTER}")
    return text[:most], len(text) > most
