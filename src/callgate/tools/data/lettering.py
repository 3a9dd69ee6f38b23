"""Letters in pictures: which font has those of a title. Both come with the library: it is alike everywhere."""

from __future__ import annotations

import unicodedata
from types import MappingProxyType
from typing import cast

from PIL import ImageDraw, ImageFont

from callgate.model.visible import visible

Font = ImageFont.FreeTypeFont | ImageFont.ImageFont

_SIZE = 14
_BEYOND_ASCII = frozenset("\u00b0\u00b1\u00b7\u00ab\u00bb\u2018\u2019\u201c\u201d\u2026")
"""What the usual font has besides (a degree, quotation marks, dots); it draws a box for every other."""
_DASHES = MappingProxyType(str.maketrans(dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-")))
_PLAIN_SIGNS = MappingProxyType(
    str.maketrans(
        {**dict.fromkeys("\u2018\u2019\u201a", "'"), **dict.fromkeys("\u201c\u201d\u201e", '"'), "\u2026": "..."}
    )
)
"""Of what the other font does not have."""
_FIRST_OF_LATIN_1, _LAST_OF_LATIN_1 = "\u00a1", "\u00ff"


def usual_font() -> ImageFont.FreeTypeFont:
    """The one for numbers, and for titles whose letters it has."""
    return cast("ImageFont.FreeTypeFont", ImageFont.load_default(_SIZE))


class Title:
    """A title in the font that has its letters: the usual one, or one of fixed dots that has those of Latin-1."""

    def __init__(self, text: str) -> None:
        """Choose a font.

        Raises:
            ValueError: Neither has a letter of it.
        """
        text = unicodedata.normalize("NFC", text).translate(_DASHES)
        self._font: Font = usual_font()
        self._end = "…"
        if not all(sign.isascii() or sign in _BEYOND_ASCII for sign in text):
            text = text.translate(_PLAIN_SIGNS)
            self._font, self._end = ImageFont.load_default_imagefont(), "..."
        missing = next((sign for sign in text if not self._has(sign)), None)
        if missing is not None:
            raise ValueError(
                f"title has '{visible(missing)}', and pictures have the letters and signs of Latin-1 only;"
                " write it with those, or draw with plot_braille"
            )
        self.text = text

    def cut(self, width: float) -> None:
        """Leave out the end where there is no room for all of it."""
        if self.length <= width:
            return
        while self.text and self._font.getlength(self.text + self._end) > width:
            self.text = self.text[:-1]
        self.text += self._end

    @property
    def length(self) -> float:
        return self._font.getlength(self.text)

    def draw(self, draw: ImageDraw.ImageDraw, at: tuple[float, float], *, colour: int) -> None:
        """Draw it from its upper left corner on."""
        left, top = at
        if isinstance(self._font, ImageFont.FreeTypeFont):
            draw.text((left + self.length / 2, top), self.text, colour, self._font, anchor="mt")
        else:
            draw.text((round(left), round(top)), self.text, colour, self._font)

    def _has(self, sign: str) -> bool:
        if sign.isascii() or isinstance(self._font, ImageFont.FreeTypeFont):
            return True
        return _FIRST_OF_LATIN_1 <= sign <= _LAST_OF_LATIN_1
