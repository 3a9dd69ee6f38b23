"""Texts: bytes of an answer as characters, as browsers read them: by a mark, or what the server or the page says."""

from __future__ import annotations

import codecs
import re
from collections.abc import Mapping
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
_MARKS: Mapping[bytes, str] = {b"\xef\xbb\xbf": "utf-8-sig", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
# What Python reads by these names is what the names once meant. Pages are written in what Windows made of it, and the
# Encoding Standard has browsers read that; names that it has and Python does not follow behind.
_AS_WRITTEN: Mapping[str, str] = {
    "ascii": "utf-8",
    "utf-8": "utf-8-sig",
    "utf-16": "utf-16-le",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "big5": "big5hkscs",
    "euc_kr": "cp949",
    "shift_jis": "cp932",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "tis-620": "cp874",
    "gb_2312-80": "gb18030",
    "x-gbk": "gb18030",
    "x-x-big5": "big5hkscs",
    "windows-949": "cp949",
    "windows-31j": "cp932",
    "x-sjis": "cp932",
    "x-euc-jp": "euc_jp",
    "windows-874": "cp874",
    "iso-8859-8-i": "iso8859-8",
    "x-mac-cyrillic": "mac-cyrillic",
}


def media_type(answer: Answer) -> str:
    """What the server says it is: `text/html`; empty if it says nothing."""
    return answer.header("content-type").partition(";")[0].strip().lower()


def as_text(answer: Answer) -> str:
    """The content as characters; what cannot be one is replaced."""
    codec = _marked(answer.content) or _said(answer) or _written(answer) or "utf-8-sig"
    return answer.content.decode(codec, errors="replace")


def _marked(content: bytes) -> str | None:
    """By the mark that it begins with, which nobody sets by mistake."""
    return next((codec for mark, codec in _MARKS.items() if content.startswith(mark)), None)


def _said(answer: Answer) -> str | None:
    """By what the server says."""
    said = _CHARSET.search(answer.header("content-type").partition(";")[2])
    return _codec(said[1]) if said else None


def _written(answer: Answer) -> str | None:
    """By what a page says itself."""
    meta = _META.search(answer.content[:_LOOKED_AT]) if media_type(answer) in HTML else None
    codec = _codec(meta[1].decode("ascii")) if meta else None
    # Whoever could read that line was not reading UTF-16.
    return None if codec and codec.startswith("utf-16") else codec


def _codec(name: str) -> str | None:
    try:
        found = codecs.lookup(name).name
    except LookupError:
        return _AS_WRITTEN.get(name.lower())
    return _AS_WRITTEN.get(found, found) if _CODECS.fullmatch(found) else None
