"""The forms in which a secret turns up in texts: as it is, escaped, in HTML, percent, hex and base64. Knows no text."""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import quote

SHORTEST = 4
"""Fewer characters cannot be struck from texts without destroying them."""
_LINE_AT_LEAST = 16
_BITS = 6
# What JavaScript and web forms leave as it is, beside the letters, digits and "_.-~" that nobody encodes.
_SAFE = ("", "/", "!'()*", ";,/?:@&=+$!*'()#")
# How pages write the two quotes: templates, browsers and XML differ.
_QUOTES = (
    ("&quot;", "&#x27;"),
    ("&quot;", "&#39;"),
    ("&#34;", "&#39;"),
    ("&quot;", "&apos;"),
    ("&quot;", "'"),
    ('"', "'"),
)
# Who writes JSON into a page escapes what could end the script it stands in.
_FOR_PAGES = {ord(letter): f"\\u{ord(letter):04x}" for letter in "<>&'"}


class Form(NamedTuple):
    """One way to write a secret, and how many characters beside it still hold bits of it."""

    text: str
    before: int = 0
    after: int = 0


def forms_of(secret: str) -> tuple[Form, ...]:
    """Every form, each once; without blanks around the secret, because whoever uses it strips them."""
    secret = secret.strip()
    ways = (_plain, _escaped, _in_pages, _percent, _hex)
    plain = dict.fromkeys(text for way in ways for text in way(secret))
    forms = {text: Form(text) for text in plain}
    for form in _base64(_bytes(secret)):
        forms.setdefault(form.text, form)
    return tuple(form for form in forms.values() if len(form.text) >= SHORTEST)


def _bytes(secret: str) -> bytes:
    """Text from the environment may stand for bytes that are no UTF-8."""
    try:
        return secret.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return secret.encode("utf-8", "surrogatepass")


def _plain(secret: str) -> Iterator[str]:
    yield secret
    # As it looks where its bytes are read one by one.
    yield _bytes(secret).decode("latin-1")
    # A key of many lines is also shown line by line, indented or numbered; its first and last line are no secret.
    lines = (line.strip() for line in secret.splitlines())
    yield from (line for line in lines if len(line) >= _LINE_AT_LEAST and not line.startswith("-----"))


def _escaped(secret: str) -> Iterator[str]:
    once = list(_in_json(secret))
    for escaped in (*once, *(again for text in once for again in _in_json(text))):
        yield escaped
        yield escaped.replace("/", "\\/")
        yield re.sub(r"(?<!\\)\\u[0-9a-f]{4}", lambda match: "\\u" + match[0][2:].upper(), escaped)
    yield repr(secret)[1:-1]
    yield repr(_bytes(secret))[2:-1]


def _in_json(text: str) -> Iterator[str]:
    """As a text of JSON; JSON is sent inside of JSON as well."""
    for escaped in (json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1]):
        yield escaped
        yield escaped.translate(_FOR_PAGES)


def _in_pages(secret: str) -> Iterator[str]:
    escaped = html.escape(secret, quote=False)
    for double, single in _QUOTES:
        yield escaped.replace('"', double).replace("'", single)


def _percent(secret: str) -> Iterator[str]:
    for safe in _SAFE:
        quoted = quote(_bytes(secret), safe=safe)
        for form in (quoted, quoted.replace("%20", "+"), quoted.replace("~", "%7E").replace("%20", "+")):
            yield form
            yield re.sub(r"%[0-9A-F]{2}", lambda match: match[0].lower(), form)


def _hex(secret: str) -> Iterator[str]:
    digits = _bytes(secret).hex()
    yield digits
    yield digits.upper()


def _base64(data: bytes) -> Iterator[Form]:
    """What of the base64 of any text around the data comes from the data alone, for each of the three alignments."""
    for shift in range(3):
        bits = (shift + len(data)) * 8
        start, end = -(-shift * 8 // _BITS), bits // _BITS
        text = base64.b64encode(bytes(shift) + data).decode()[start:end]
        before, after = int(shift > 0), int(bits % _BITS > 0)
        yield Form(text, before, after)
        yield Form(text.replace("+", "-").replace("/", "_"), before, after)
