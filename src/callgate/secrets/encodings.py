"""The forms in which a secret turns up in texts: as it is, escaped, in percent, hex and base64. Knows no text."""

from __future__ import annotations

import base64
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


class Form(NamedTuple):
    """One way to write a secret, and how many characters beside it still hold bits of it."""

    text: str
    before: int = 0
    after: int = 0


def forms_of(secret: str) -> tuple[Form, ...]:
    """Every form, each once; without blanks around the secret, because whoever uses it strips them."""
    secret = secret.strip()
    plain = dict.fromkeys([*_plain(secret), *_escaped(secret), *_percent(secret), *_hex(secret)])
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
    for escaped in (json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]):
        yield escaped
        yield escaped.replace("/", "\\/")
        yield re.sub(r"(?<!\\)\\u[0-9a-f]{4}", lambda match: "\\u" + match[0][2:].upper(), escaped)
    yield repr(secret)[1:-1]
    yield repr(_bytes(secret))[2:-1]


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
