"""What people write who mean something else than the language reads: 12,500 for one number, 10% + 5 for a part of it.

Python's grammar takes these texts, so that they would give a wrong value without a word. Knows texts only.
"""

from __future__ import annotations

import re
from decimal import Decimal

_SHOWN = 24
"""Characters of a text that are repeated, to say where in it."""
_THOUSANDS = re.compile(r"[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?(?![\w,.])")
_DECIMAL_COMMA = re.compile(r"([0-9]+),([0-9]+)(?![\w,.])")
_GROUPED = re.compile(
    r"(?<![\w.])(?P<whole>[1-9][0-9]{0,2}(?:(?: [0-9]{3})+|(?:\.[0-9]{3}){2,}))"
    r"(?P<part>[.,][0-9]+(?![\w,.]))?(?![\w.])"
)
"""1 000 and 1.234.567,89, which nothing else can be meant by than by 1.234,56."""
_POINT_AND_COMMA = re.compile(r"(?<![\w.])(?P<whole>[1-9][0-9]{0,2}\.[0-9]{3}),(?P<part>[0-9]+)(?![\w,.])")
_NUMBER = re.compile(r"(?<![\w.])([0-9][0-9_]*)(?:\.[0-9_]*)?(?:[eE][+-]?[0-9]+)?")
_ZEROS = re.compile(r"0[0-9_]+")
_PERCENT = re.compile(r"(?<![\w.])([0-9]+(?:\.[0-9]+)?)% *([+-]) *([0-9.]*)")


def mistaken(text: str) -> str | None:
    """What is wrong with a text that Python would read, as the end of a sentence about it."""
    return _grouped(text) or _comma(text) or _zeros(text) or _percent(text)


def shown(text: str) -> str:
    """A text, or where it is long its beginning."""
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def per_cent(number: str) -> str:
    """10% as it is written here: 0.10."""
    return f"{Decimal(number).scaleb(-2):f}"


def _grouped(text: str) -> str | None:
    found = _GROUPED.search(text)
    if found is None:
        return None
    part = found["part"] or ""
    begin = found.start()
    if part.startswith(",") and _depth(text[:begin]) > 0:
        part = ""  # in brackets a comma is between two numbers
    number = re.sub("[ .]", "", found["whole"]) + part.replace(",", ".")
    product = found["whole"].replace(" ", "*") + part
    # 12 500 may be two numbers; 1 000 and 1.234.567 are none.
    is_product = "." not in found["whole"] and "*0" not in product and "," not in part
    meant = f", or {product} for a product" if is_product else ""
    return f"has a number in groups, at '{shown(text[begin:])}'; write {number}{meant}"


def _depth(text: str) -> int:
    return sum((sign in "([") - (sign in ")]") for sign in text)


def _comma(text: str) -> str | None:
    depth = 0
    for at, character in enumerate(text):
        depth += (character in "([") - (character in ")]")
        if character == "," and depth == 0:
            return f"has a comma outside of brackets, at '{shown(text[at:])}'; {_without_comma(text, at)}"
    return None


def _without_comma(text: str, at: int) -> str:
    begin = at
    while begin and text[begin - 1].isdigit():
        begin -= 1
    listed = f"[{text}]" if len(text) <= _SHOWN else "[1, 2]"
    pointed = _POINT_AND_COMMA.search(text)
    if pointed is not None and pointed.end("whole") == at:
        return f"write {pointed['whole'].replace('.', '')}.{pointed['part']}, or {listed} for a list"
    whole = _THOUSANDS.match(text, begin)
    if whole is not None:
        number = f"write {whole[0].replace(',', '')}"
        return number if ",0" in whole[0] else f"{number}, or [{whole[0].replace(',', ', ')}] for a list"
    parts = _DECIMAL_COMMA.match(text, begin)
    return f"write {parts[1]}.{parts[2]}, or {listed} for a list" if parts else f"write {listed} for a list"


def _zeros(text: str) -> str | None:
    for number in _NUMBER.finditer(text):
        if not _ZEROS.fullmatch(number[1]):
            continue
        bare = f"{number[1].lstrip('0_') or '0'}{number[0][len(number[1]) :]}"
        before = re.search(r"(?<![\w.])[0-9]{1,3}(?:,[0-9]{3})*,$", text[: number.start()])
        meant = f" (or, for one number, {before[0].replace(',', '')}{number[0]})" if before else ""
        return f"has zeros in front of a number, at '{shown(text[number.start() :])}'; write {bare}{meant}"
    return None


def _percent(text: str) -> str | None:
    found = _PERCENT.search(text)
    if found is None:
        return None
    number, sign, other = found.groups()
    return (
        f"has a % that would be the remainder of a division, at '{shown(text[found.start() :])}'; "
        f"write {per_cent(number)} for {number} percent, or {number} % ({sign}{other or '…'}) for the remainder"
    )
