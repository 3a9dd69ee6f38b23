"""Texts: bytes of an answer as characters, as browsers read them: by a mark, or what the server or the page says."""

from __future__ import annotations

import codecs
import re
from collections.abc import Mapping
from itertools import chain
from typing import TYPE_CHECKING

from callgate.tools.web.declared import declared_by_html, declared_by_xml

if TYPE_CHECKING:
    from callgate.tools.outbound.transport import Answer

HTML = frozenset({"text/html", "application/xhtml+xml"})
_CHARSET = re.compile(r"charset\s*=\s*[\"']?([A-Za-z0-9_.:-]{1,40})", re.IGNORECASE)
# Codecs of characters only: Python knows others by name, some of which take long or do more than reading.
_CODECS = re.compile(
    r"ascii|utf-8(-sig)?|utf-16(-[bl]e)?|iso8859-\d+|cp\d+|koi8-[rtu]|mac-\w+|gbk|gb2312|gb18030|big5(hkscs)?"
    r"|euc_\w+|shift_jis\w*|iso2022_jp\w*|tis-620"
)
_MARKS: Mapping[bytes, str] = {b"\xef\xbb\xbf": "utf-8-sig", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
# What Python reads by these names is what the names once meant. Pages are written in what Windows made of it, and the
# Encoding Standard has browsers read that.
_AS_WRITTEN: Mapping[str, str] = {
    "ascii": "cp1252",
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
}
# Names that the Standard has and Python does not. A few stand for nothing that is read: nor are they here.
_OTHER_NAMES: Mapping[str, str] = {
    name: codec
    for codec, names in (
        ("utf-8-sig", "unicode-1-1-utf-8 unicode11utf8 unicode20utf8 x-unicode20utf8"),
        ("utf-16-le", "csunicode iso-10646-ucs-2 ucs-2 unicode unicodefeff"),
        ("utf-16-be", "unicodefffe"),
        ("big5hkscs", "cn-big5 x-x-big5"),
        ("cp874", "dos-874 iso885911 windows-874"),
        ("cp932", "windows-31j x-sjis"),
        ("cp949", "cseuckr csksc56011987 iso-ir-149 ks_c_5601-1989 ksc_5601 windows-949"),
        ("cp1252", "iso88591"),
        ("cp1254", "iso88599"),
        ("euc_jp", "cseucpkdfmtjapanese x-euc-jp"),
        ("gb18030", "csgb2312 gb_2312 gb_2312-80 x-gbk"),
        ("iso8859-6", "csiso88596e csiso88596i iso-8859-6-e iso-8859-6-i"),
        ("iso8859-7", "sun_eu_greek"),
        ("iso8859-8", "csiso88598e csiso88598i iso-8859-8-e iso-8859-8-i logical visual"),
        ("iso8859-15", "csisolatin9"),
        ("koi8-r", "koi koi8"),
        ("koi8-u", "koi8-ru"),
        ("mac-cyrillic", "x-mac-cyrillic x-mac-ukrainian"),
        ("mac-roman", "csmacintosh mac x-mac-roman"),
        *((f"iso8859-{part}", f"iso8859{part}") for part in (2, 3, 4, 5, 6, 7, 8, 10, 13, 14, 15)),
        *((f"cp{page}", f"x-cp{page}") for page in range(1250, 1259)),
    )
    for name in names.split()
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
    """By what a page or a feed says itself. What is XML is no HTML, and has no `meta` that counts."""
    kind, content = media_type(answer), answer.content
    if kind.endswith(("/xml", "+xml")):
        names = declared_by_xml(content)
    elif kind in HTML:
        names = chain(declared_by_html(content), declared_by_xml(content))
    else:
        return None
    codec = next(filter(None, map(_codec, names)), None)
    # Whoever could read that line was not reading UTF-16.
    return None if codec and codec.startswith("utf-16") else codec


def _codec(name: str) -> str | None:
    try:
        found = codecs.lookup(name).name
    except LookupError:
        return _OTHER_NAMES.get(name.lower())
    return _AS_WRITTEN.get(found, found) if _CODECS.fullmatch(found) else None
