"""Pages: the readable text of HTML, as Markdown. Slow for some pages: to be run apart."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser

LARGEST_PAGE = 2 * 1024 * 1024
"""Bytes of HTML."""
_LARGEST_TEXT = 4 * LARGEST_PAGE
_LONGEST_TITLE = 500
_NOT_READ = ["script", "style", "noscript", "template", "svg", "iframe", "head"]
_GAPS = re.compile(r"\n{3,}")
_OF_PAGES = frozenset({"http", "https"})
_AROUND = "".join(map(chr, range(0x21)))
"""What browsers leave out around an address."""


def read_written(written: str) -> dict[str, str]:
    """`read_page` of its two arguments in a list, as JSON."""
    return read_page(*json.loads(written))


def read_page(html: str, address: str = "") -> dict[str, str]:
    """The `title` of a page, empty if it has none, and its `content`, whose links lead where those of the page do.

    Args:
        html: The page.
        address: Where it came from.
    """
    import trafilatura  # noqa: PLC0415 - an extra
    from selectolax.lexbor import LexborHTMLParser  # noqa: PLC0415

    tree = LexborHTMLParser(html)
    heading = tree.css_first("title")
    title = " ".join(heading.text().split()) if heading is not None else ""
    content = trafilatura.extract(
        (tree.html or html) if _complete_links(tree, address) else html,
        output_format="markdown",
        include_links=True,
        include_tables=True,
        favor_recall=True,
    )
    if not content:
        # No article in it: then what a person would see, without marks.
        tree.strip_tags(_NOT_READ)
        content = tree.body.text(separator="\n", strip=True) if tree.body is not None else ""
    return {"title": title[:_LONGEST_TITLE], "content": _GAPS.sub("\n\n", content).strip()[:_LARGEST_TEXT]}


def _complete_links(tree: LexborHTMLParser, address: str) -> bool:
    """Give the links of a page whole addresses; whether any had none."""
    base = _base(tree, address)
    changed = False
    for link in tree.css("a[href]"):
        said = link.attributes["href"] or ""
        whole = _joined(base, said)
        if whole != said:
            link.attrs["href"] = whole
            changed = True
    return changed


def _base(tree: LexborHTMLParser, address: str) -> str:
    """What the page has its links begin with; its own address where that is none of a page."""
    begun = tree.css_first("base[href]")
    base = _joined(address, (begun.attributes["href"] if begun is not None else "") or "")
    try:
        return base if urlsplit(base).scheme in _OF_PAGES else address
    except ValueError:
        return address


def _joined(base: str, link: str) -> str:
    try:
        return urljoin(base, link.strip(_AROUND))
    except ValueError:  # no address, whatever it is joined with
        return link
