"""Citations: a quote counts if the page says it, and a reference if it names a page that was fetched. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection

_SHORTEST_QUOTE = 12
_MARK = re.compile(r"\[(\d{1,4}(?:\s*,\s*\d{1,4})*)\](?!\()")
_LINK = re.compile(r"!?\[([^\]\n]{0,500})\]\(\s*<?([^)\s>]{1,2000})>?[^)\n]{0,200}\)")
_ADDRESS = re.compile(r"(?:https?|ftp)://[^\s<>()\[\]\"'`]{1,2000}", re.IGNORECASE)


def says(page: str, quote: str) -> bool:
    """Whether the page has the quote, whatever its spaces, capitals and kinds of quotation marks."""
    plain = _plain(quote)
    return len(plain) >= _SHORTEST_QUOTE and plain in _plain(page)


def referred(text: str) -> list[int]:
    """The sources that a text refers to, `[2]` or `[1, 3]`, each once, as they come."""
    return list(dict.fromkeys(int(number) for found in _MARK.findall(text) for number in found.split(",")))


def only_fetched(text: str, *, sources: Collection[int], addresses: Collection[str]) -> str:
    """The text without references to sources that do not exist, and without addresses that nobody fetched.

    A model may invent either; a page may have told it to.
    """
    text = _LINK.sub(lambda found: found[0] if found[2] in addresses else found[1], text)
    text = _ADDRESS.sub(lambda found: _known(found[0], addresses), text)
    return _MARK.sub(lambda found: _kept(found[1], sources), text)


def _known(address: str, addresses: Collection[str]) -> str:
    bare = address.rstrip(".,;:!?")
    return address if bare in addresses or address in addresses else "(address left out)"


def _kept(numbers: str, sources: Collection[int]) -> str:
    kept = [number.strip() for number in numbers.split(",") if int(number) in sources]
    return f"[{', '.join(kept)}]" if kept else ""


def _plain(text: str) -> str:
    text = unicodedata.normalize("NFKC", text).casefold()
    for found, put in (("“", '"'), ("”", '"'), ("„", '"'), ("’", "'"), ("‘", "'"), ("–", "-"), ("—", "-")):  # noqa: RUF001 - these are what is meant
        text = text.replace(found, put)
    return " ".join(text.split())
