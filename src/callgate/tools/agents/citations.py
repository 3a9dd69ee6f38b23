"""Citations: a quote counts if the page says it, and a reference if it names a page that was fetched. Pure.

What a model writes is taken as text: of all that Markdown makes links of, only references to numbered sources stay. So
nothing in it, whoever told the model to write it, can lead a reader where nobody looked.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Collection

_SHORTEST_QUOTE = 12
_DECODED = 3
"""How often a text may be written in entities of entities."""
_BRACKETS = re.compile(r"\[([^\[\]]*)\]")
_NUMBERS = re.compile(r"\s*\d{1,4}(?:\s*[,;]\s*\d{1,4})*\s*")
_NEARLY = re.compile(r"[\s\d,;#.\u2013-]*")
_WORD = re.compile(r"\S+")
_AROUND = "()[]<>{}\"'`*_.,;:!?"
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*:/|//|www\.|(?:mailto|xmpp):|[\w.!#$%&'*+/=?^{|}~-]@[\w-]+\.", re.IGNORECASE)
"""What readers of Markdown make a link of by themselves, addresses of mail too."""
_MARK = "\0"
"""Stands for a bracket that stays; no text has it."""


def says(page: str, quote: str) -> bool:
    """Whether the page has the quote, whatever its spaces, capitals and kinds of quotation marks."""
    plain = _plain(quote)
    return len(plain) >= _SHORTEST_QUOTE and plain in _plain(page)


def referred(text: str) -> list[int]:
    """The sources that a text refers to, `[2]` or `[1, 3]`, each once, as they come."""
    found = (inside for inside in _BRACKETS.findall(text) if _NUMBERS.fullmatch(inside))
    return list(dict.fromkeys(number for inside in found for number in _numbers(inside)))


def only_fetched(text: str, *, sources: Collection[int] = (), addresses: Collection[str] = ()) -> str:
    """The text with references to these sources, and with no other reference, link, image or address but these.

    A model may invent any of them; a page may have told it to.
    """
    text = _decoded(text).replace(_MARK, "").replace("](", "] (").replace("<", "(").replace(">", ")")
    text = _BRACKETS.sub(lambda found: _reference(found[1], sources), text)
    text = text.replace("[", "(").replace("]", ")")
    text = _WORD.sub(lambda found: _known(found[0], addresses), text)
    return _marked(text)


def _marked(text: str) -> str:
    """The references in brackets again, each apart from what follows: else it would be a link, or define one."""
    parts = text.split(_MARK)
    made = [parts[0]]
    for inside, after in zip(parts[1::2], parts[2::2], strict=True):
        made += [f"[{inside}]", " " if after[:1] in {":", "(", "["} else "", after]
    return "".join(made)


def _decoded(text: str) -> str:
    for _ in range(_DECODED):
        plain = html.unescape(text)
        if plain == text:
            return plain
        text = plain
    return text.replace("&", "and ")


def _reference(inside: str, sources: Collection[int]) -> str:
    if _NUMBERS.fullmatch(inside):
        kept = [str(number) for number in _numbers(inside) if number in sources]
        return f"{_MARK}{', '.join(kept)}{_MARK}" if kept else ""
    return "" if _NEARLY.fullmatch(inside) else f"({inside})"


def _numbers(inside: str) -> list[int]:
    return [int(number) for number in re.split("[,;]", inside)]


def _known(word: str, addresses: Collection[str]) -> str:
    if not _ADDRESS.search(word.replace("\\", "")):
        return word
    bare = word.strip(_AROUND)
    return bare if bare in addresses else "(address left out)"


def _plain(text: str) -> str:
    text = unicodedata.normalize("NFKC", text).casefold()
    for found, put in (("“", '"'), ("”", '"'), ("„", '"'), ("’", "'"), ("‘", "'"), ("–", "-"), ("—", "-")):  # noqa: RUF001 - these are what is meant
        text = text.replace(found, put)
    return " ".join(text.split())
