"""Declared: what a page or a feed says itself of its characters. Knows bytes, and not what the names stand for."""

from __future__ import annotations

import re
from collections.abc import Iterator

_LOOKED_AT = 4096
_XML = re.compile(rb"\s*+<\?xml\s[^>]{0,200}?\sencoding\s*=\s*[\"']([A-Za-z0-9_.:-]{1,40})[\"']")
_ATTRIBUTE = rb"""([^\s/>][^\s/>=]*+)(?:\s*+=\s*+(?:"([^"]*+)(?:"|\Z)|'([^']*+)(?:'|\Z)|([^\s>"'][^\s>]*+)))?+"""
_PART = re.compile(_ATTRIBUTE)
# What only speaks of elements is read over: comments, and the text of scripts and the like. What was never closed is
# taken to its end, too: nothing is looked at twice.
_ELEMENT = re.compile(
    rb"<!--(?:-?>|.*?(?:--!?>|\Z))"
    rb"|<(?P<raw>script|style|title|textarea)(?=[\s/>]).*?(?:</(?P=raw)(?=[\s/>])|\Z)"
    rb"|<(?P<name>[a-z][^\s/>]*+)(?P<attributes>(?:[\s/]++|" + _ATTRIBUTE + rb")*+)(?P<end>>?)"
    rb"|<[!?/][^>]*+",
    re.IGNORECASE | re.DOTALL,
)
_CHARSET = re.compile(rb"charset\s*+=\s*+(?:\"([^\"]*+)\"|'([^']*+)'|([^\s;\"'][^\s;]*+))", re.IGNORECASE)
_NAME = re.compile(rb"\s*([A-Za-z0-9_.:-]{1,40})\s*")


def declared_by_xml(content: bytes) -> Iterator[str]:
    """The name in the declaration that XML begins with."""
    found = _XML.match(content[:_LOOKED_AT])
    if found is not None:
        yield found[1].decode()


def declared_by_html(content: bytes) -> Iterator[str]:
    """The names in its `meta` elements, in their order: one whose name stands for nothing is passed over."""
    for element in _ELEMENT.finditer(content[:_LOOKED_AT]):
        is_meta = element["end"] and element["name"].lower() == b"meta"
        name = _of_meta(element["attributes"]) if is_meta else None
        plain = _NAME.fullmatch(name) if name is not None else None
        if plain is not None:
            yield plain[1].decode()


def _of_meta(written: bytes) -> bytes | None:
    """By its `charset`, or its `content` where it stands for the header of a server; of two alike, the first counts."""
    attributes: dict[bytes, bytes] = {}
    for part in _PART.finditer(written):
        attributes.setdefault(part[1].lower(), part[2] or part[3] or part[4] or b"")
    if b"charset" in attributes or attributes.get(b"http-equiv", b"").strip().lower() != b"content-type":
        return attributes.get(b"charset")
    found = _CHARSET.search(attributes.get(b"content", b""))
    return None if found is None else found[1] or found[2] or found[3]
