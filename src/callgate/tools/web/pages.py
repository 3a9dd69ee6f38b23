"""Pages: the readable text of HTML, as Markdown. Slow for some pages: to be run apart."""

from __future__ import annotations

import re

LARGEST_PAGE = 2 * 1024 * 1024
"""Bytes of HTML."""
_LARGEST_TEXT = 4 * LARGEST_PAGE
_LONGEST_TITLE = 500
_NOT_READ = ["script", "style", "noscript", "template", "svg", "iframe", "head"]
_GAPS = re.compile(r"\n{3,}")


def read_page(html: str) -> dict[str, str]:
    """The `title` of a page, empty if it has none, and its `content`."""
    import trafilatura  # noqa: PLC0415 - an extra
    from selectolax.lexbor import LexborHTMLParser  # noqa: PLC0415

    tree = LexborHTMLParser(html)
    heading = tree.css_first("title")
    title = " ".join(heading.text().split()) if heading is not None else ""
    content = trafilatura.extract(
        html, output_format="markdown", include_links=True, include_tables=True, favor_recall=True
    )
    if not content:
        # No article in it: then what a person would see, without marks.
        tree.strip_tags(_NOT_READ)
        content = tree.body.text(separator="\n", strip=True) if tree.body is not None else ""
    return {"title": title[:_LONGEST_TITLE], "content": _GAPS.sub("\n\n", content).strip()[:_LARGEST_TEXT]}
