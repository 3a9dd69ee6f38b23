"""Known secrets: an immutable snapshot of every form to look for, made anew for each secret. Knows no values of tools.

Looking has steps, because nearly every text is innocent and every call pays for looking. First come the shapes
(`traces`). Forms with a long word in them can only be in a text that has a long word: one translation and one search,
however many secrets there are. Only then are these forms themselves looked for.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import orjson

from callgate.model.visible import CUT
from callgate.secrets.encodings import SHORTEST, Form
from callgate.secrets.placeholders import ANY, PLAIN, placeholder
from callgate.secrets.shapes import NAMES, strike_shapes
from callgate.secrets.traces import LONG_WORD, has_long_word, has_short_word, look_for
from callgate.secrets.unescaped import may_have_escapes, unescaped

_LETTERS = (string.ascii_letters + string.digits + "_+=%").encode()
_WORDS = bytes(ord("x") if byte in _LETTERS else ord(" ") for byte in range(256))
_RUN = b"x" * LONG_WORD
_BASE64 = frozenset(string.ascii_letters + string.digits + "+/-_")
_PADDING = 2
_LINE = 60
"""From so many letters on, a line is one of base64 that was broken into lines: of 64 or 76."""
# Each letter is looked at once, however long a word is: it starts where one starts, and gives nothing back.
_BROKEN = re.compile(rf"(?<![A-Za-z0-9+/_-])(?:[A-Za-z0-9+/_-]{{{_LINE},}}+\r?\n[ \t]*+)++[A-Za-z0-9+/_-]*+={{0,2}}")
_BREAKS = frozenset("\r\n\t ")
_SIGNS = bytes(ord("x") if chr(byte) in _BASE64 else byte if byte == ord("\\") else ord(" ") for byte in range(256))
_LINE_AND_BREAK = b"x" * _LINE + b"\\"
_CUT = CUT.encode().decode("latin-1")
_CUT_OFF = re.compile(f"['\"]?{CUT}")
"""Where somebody cut a text, before or after it was put in quotes."""
_TAIL = 4096
"""How far before a cut the secret may begin that it interrupts."""
_FEW = 200
"""From here on, cutting the text into windows is faster than looking for each form."""

_MOST_INNOCENT = 4096
"""So many texts are remembered; beyond it, remembering starts anew."""

Span = tuple[int, int, str]


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Known:
    """Every form of every secret handed out so far, and what stands in for it."""

    forms: tuple[tuple[Form, str], ...] = ()
    """Each with its placeholder."""
    shapes: Mapping[str, str] = field(default_factory=lambda: {name: placeholder(name) for name in NAMES})
    """The placeholder of each shape."""
    short: tuple[str, ...] = ()
    """Needles without a long word: looked for in every text."""
    long: tuple[str, ...] = ()
    windows: frozenset[str] = frozenset()
    """How the long needles begin."""
    heads: frozenset[str] = frozenset()
    """How the forms begin."""
    placeholders: frozenset[str] = frozenset(placeholder(name) for name in NAMES)
    unusual: tuple[str, ...] = ()
    """Placeholders in use that do not look like one."""
    innocent: set[bytes] = field(default_factory=set[bytes])
    """Texts that come again and again, and hold nothing of all this."""

    def learn(self, forms: Iterable[Form], wanted: str) -> Known:
        """A snapshot that knows one secret more.

        A placeholder must not contain what it hides: where the secret's own name does, a plain one is taken.
        """
        new = tuple(forms)
        fresh = [form.text for form in new]
        texts = [*(form.text for form, _ in self.forms), *fresh]
        renamed = {old: _choose(old, texts) for old in self.placeholders if _holds(old, fresh)}
        stand_in = _choose(wanted, texts)
        shapes = {name: renamed.get(old, old) for name, old in self.shapes.items()}
        placeholders = frozenset((*(renamed.get(old, old) for old in self.placeholders), stand_in))
        long, short = list[str](), list[str]()
        for needle in _needles(new):
            (long if _has_long_word(needle.encode("latin-1")) else short).append(needle)
        return Known(
            forms=(*((form, renamed.get(old, old)) for form, old in self.forms), *((form, stand_in) for form in new)),
            shapes=shapes,
            short=(*self.short, *short),
            long=(*self.long, *long),
            windows=self.windows.union(needle[:LONG_WORD] for needle in long),
            heads=self.heads.union(text[:SHORTEST] for text in fresh),
            placeholders=placeholders,
            unusual=tuple(text for text in PLAIN if text in placeholders),
        )

    def may_be_in(self, data: bytes) -> bool:
        """Whether something may have to be struck from a value with this JSON text. Never a wrong no."""
        if len(data) < SHORTEST:
            return False
        text = data.decode("latin-1")
        look = look_for(len(data))
        if (has_short_word if look is None else look)(text):
            return True
        if self.forms and (self._has_short(text) or _has_broken_lines(data) or may_have_escapes(text)):
            return True
        if (look is not None and not self.long) or data.translate(_WORDS).find(_RUN) < 0:
            return False
        return (look is None and has_long_word(text)) or self._has_long(text)

    def may_be_in_shared(self, data: bytes) -> bool:
        """As `may_be_in`, of a text that comes again and again: it is looked through once per snapshot."""
        if data in self.innocent:
            return False
        if self.may_be_in(data):
            return True
        if len(self.innocent) >= _MOST_INNOCENT:
            self.innocent.clear()
        self.innocent.add(data)
        return False

    def strike(self, text: str) -> str:
        """The text without any form or shape; the same object when there was none."""
        try:
            if not self.may_be_in(orjson.dumps(text)):
                return text
        except orjson.JSONEncodeError:
            pass  # A lone surrogate: it has no JSON, and is looked at all the same.
        pieces: list[str] = []
        last = 0
        for start, end in self._protected(text):
            pieces += (self._strike_piece(text[last:start]), text[start:end])
            last = end
        if not last:
            return self._strike_piece(text)
        struck = "".join((*pieces, self._strike_piece(text[last:])))
        return text if struck == text else struck

    def _has_short(self, text: str) -> bool:
        if _CUT in text:
            return True
        for needle in self.short:  # noqa: SIM110 - on the way of every call, and any() takes three times as long
            if needle in text:
                return True
        return False

    def _has_long(self, text: str) -> bool:
        if len(self.long) > _FEW:
            return not self.windows.isdisjoint(text[at : at + LONG_WORD] for at in range(len(text) - LONG_WORD + 1))
        for needle in self.long:  # noqa: SIM110 - as above
            if needle in text:
                return True
        return False

    def _protected(self, text: str) -> Iterator[tuple[int, int]]:
        """Where our own placeholders are: left alone, so that striking twice is striking once."""
        if "[" in text:
            yield from (match.span() for match in ANY.finditer(text) if match[0] in self.placeholders)

    def _strike_piece(self, text: str) -> str:
        spans = _merged(sorted(self._spans(text)))
        pieces: list[str] = []
        last = 0
        for start, end, stand_in in spans:
            pieces += (strike_shapes(text[last:start], self.shapes), stand_in)
            last = end
        rest = strike_shapes(text[last:] if last else text, self.shapes)
        return "".join((*pieces, rest)) if pieces else rest

    def _spans(self, text: str) -> Iterator[Span]:
        yield from self._as_written(text)
        for read in unescaped(text) if self.forms else ():
            for start, end, stand_in in self._as_written(read.text):
                yield *read.place(start, end), stand_in

    def _as_written(self, text: str) -> Iterator[Span]:
        yield from self._whole(text)
        for lines in _BROKEN.finditer(text) if _has_long_line(text) else ():
            yield from self._across_lines(lines[0], lines.start())
        last = 0
        for mark in _CUT_OFF.finditer(text) if CUT in text else ():
            yield from self._cut_short(text, last, mark.start())
            last = mark.end()

    def _whole(self, text: str) -> Iterator[Span]:
        for form, stand_in in self.forms:
            at = text.find(form.text)
            while at >= 0:
                end = at + len(form.text)
                yield *_widened(text, form, at=at), stand_in
                at = text.find(form.text, end)

    def _across_lines(self, lines: str, start: int) -> Iterator[Span]:
        """Where a form is in these lines that a break interrupts."""
        kept = [at for at, letter in enumerate(lines) if letter not in _BREAKS]
        for first, behind, stand_in in self._whole("".join(lines[at] for at in kept)):
            yield start + kept[first], start + kept[behind - 1] + 1, stand_in

    def _cut_short(self, text: str, start: int, end: int) -> Iterator[Span]:  # noqa: PLR0917 - a piece of text
        """Where a form begins that is interrupted at `end`, because the text was cut there."""
        for at in range(max(start, end - _TAIL), end - SHORTEST + 1):
            if text[at : at + SHORTEST] in self.heads:
                yield from ((at, end, stand_in) for form, stand_in in self.forms if form.text.startswith(text[at:end]))


def _has_broken_lines(data: bytes) -> bool:
    """Whether something in this JSON text looks like base64 in lines."""
    return b"\\n" in data and _LINE_AND_BREAK in data.translate(_SIGNS)


def _has_long_line(text: str) -> bool:
    """Whether there can be such lines in a text; asking the pattern takes many times as long."""
    return "\n" in text and _LINE_AND_BREAK[:_LINE] in text.encode("ascii", "replace").translate(_SIGNS)


def _widened(text: str, form: Form, *, at: int) -> tuple[int, int]:
    """Where the form is, with the neighbours that hold bits of the secret, and the padding."""
    start, end = at, at + len(form.text)
    if form.before and start and text[start - 1] in _BASE64:
        start -= 1
    if form.after and text[end : end + 1] in _BASE64:
        end += 1
        end += len(text[end : end + _PADDING]) - len(text[end : end + _PADDING].lstrip("="))
    return start, end


def _merged(spans: list[Span]) -> Iterator[Span]:
    """Spans that overlap, or that touch and hide the same, as one."""
    current: Span | None = None
    for span in spans:
        if current is None:
            current = span
        elif span[0] < current[1] or (span[0] == current[1] and span[2] == current[2]):
            current = (current[0], max(current[1], span[1]), current[2])
        else:
            yield current
            current = span
    if current is not None:
        yield current


def _needles(forms: Iterable[Form]) -> Iterator[str]:
    """The forms as they stand in JSON text, read byte by byte; text that has no JSON is never looked for there."""
    for form in forms:
        try:
            yield orjson.dumps(form.text)[1:-1].decode("latin-1")
        except orjson.JSONEncodeError:
            continue


def _has_long_word(data: bytes) -> bool:
    return _RUN in data.translate(_WORDS)


def _holds(stand_in: str, texts: list[str]) -> bool:
    return any(text in stand_in for text in texts)


def _choose(wanted: str, texts: list[str]) -> str:
    return next((text for text in (wanted, *PLAIN) if not _holds(text, texts)), PLAIN[-1])
