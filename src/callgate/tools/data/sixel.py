"""Sixel: a picture with a palette, as the text that terminals draw it from. Knows nothing of plots.

A character stands for six dots above each other, in one colour; each band of six rows is written once for every colour
in it, and what repeats is counted.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

Colour = tuple[int, int, int]
"""Red, green and blue, 0 to 255."""

_START, _END = "\x1bP0;1;0q", "\x1b\\"
_ROWS = 6
_FIRST = 63
"""The character for no dot; the bits of the six dots are added to it, the uppermost first."""
_SHORTEST_RUN = 4
"""Fewer than so many are shorter written out than counted."""
_RUN = re.compile(r"(.)\1*", re.DOTALL)


def encode(pixels: bytes, palette: Sequence[Colour], *, width: int) -> str:
    """Write a picture.

    Args:
        pixels: One byte for each, the number of its colour; row by row.
        palette: The colours.
        width: Pixels in a row.
    """
    rows = [pixels[start : start + width] for start in range(0, len(pixels), width)]
    colours = "".join(f"#{number};2;{';'.join(map(_percent, colour))}" for number, colour in enumerate(palette))
    bands = (_band(rows[start : start + _ROWS], width) for start in range(0, len(rows), _ROWS))
    return f'{_START}"1;1;{width};{len(rows)}{colours}{"-".join(bands)}{_END}'


def _percent(part: int) -> str:
    return str((part * 100 + 127) // 255)


def _band(rows: Sequence[bytes], width: int) -> str:
    used = sorted(set(b"".join(rows)))
    return "$".join(f"#{colour}{_runs(_dots(rows, colour, width=width))}" for colour in used)


def _dots(rows: Sequence[bytes], colour: int, *, width: int) -> str:
    """The characters of one colour: each row is one bit in each of them, so that whole rows can be added up."""
    total = int.from_bytes(bytes([_FIRST]) * width, "big")
    for bit, row in enumerate(rows):
        table = bytearray(256)
        table[colour] = 1 << bit
        total += int.from_bytes(row.translate(table), "big")
    # What comes after the last dot of a colour need not be written.
    return total.to_bytes(width, "big").decode("ascii").rstrip(chr(_FIRST))


def _runs(characters: str) -> str:
    def counted(found: re.Match[str]) -> str:
        length = len(found[0])
        return f"!{length}{found[1]}" if length >= _SHORTEST_RUN else found[0]

    return _RUN.sub(counted, characters)
