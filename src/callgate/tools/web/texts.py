"""Texts: bytes of an answer as characters, by what the server and the page say of them."""

from __future__ import annotations

import codecs
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from callgate.tools.outbound.transport import Answer

HTML = frozenset({"text/html", "application/xhtml+xml"})
_CHARSET = re.compile(r"charset\s*=\s*[\"']?([A-Za-z0-9_.:-]{1,40})", re.IGNORECASE)
_META = re.compile(rb"<meta[^>]{0,500}?charset\s*=\s*[\"']?([A-Za-z0-9_.:-]{1,40})", re.IGNORECASE)
_LOOKED_AT = 4096
# Codecs of characters only: Python knows others by name, some of which take long or do more than reading.
_CODECS = re.compile(
    r"ascii|utf-8(-sig)?|utf-16(-[bl]e)?|iso8859-\d+|cp\d+|koi8-[rtu]|mac-\w+|gbk|gb2312|gb18030|big5(hkscs)?"
    r"|euc_\w+|shift_jis\w*|iso2022_jp\w*|tis-620"
)


def media_type(answer: Answer) -> str:
    """What the server says it is: `text/html`; empty if it says nothing."""
    return answer.header("content-type").partition(";")[0].strip().lower()


def as_text(answer: Answer) -> str:
    """The content as characters; what cannot be one is replaced."""
    said = _CHARSET.search(answer.header("content-type").partition(";")[2])
    name = said[1] if said else None
    if name is None and media_type(answer) in HTML:
        meta = _META.search(answer.content[:_LOOKED_AT])
        name = meta[1].decode("ascii") if meta else None
    return answer.content.decode(_codec(name or "utf-8"), errors="replace")


def _codec(name: str) -> str:
    try:
        found = codecs.lookup(name).name
    except LookupError:
        return "utf-8"
    # Browsers read what calls itself Latin 1 as Windows does, since that is what it mostly is.
    usual = {"iso8859-1": "cp1252", "ascii": "utf-8", "utf-8": "utf-8-sig"}
    return usual.get(found, found) if _CODECS.fullmatch(found) else "utf-8"
