"""Search backends: how each kind is asked, and how its answer is read, to be run apart. Sends nothing itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import parse_qs, urlsplit

import orjson

from callgate.tools.outbound.troubles import AnswerUnfit

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

Hit = dict[str, str]
_LONGEST = 1000


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of backend."""

    question: Callable[[str, str], dict[str, str]]
    """(query, region) -> what stands in the URL."""
    read: Callable[[str], list[Hit]]
    """The answer's text -> what was found.

    Raises:
        AnswerUnfit: It has no results that can be read, nor says that there are none.
    """


def _ask_duckduckgo(query: str, region: str) -> dict[str, str]:
    return {"q": query, "kl": region}


def read_duckduckgo(page: str) -> list[Hit]:
    """What its pages without scripts have, with or without style."""
    from selectolax.lexbor import LexborHTMLParser  # noqa: PLC0415 - an extra

    tree = LexborHTMLParser(page)
    hits = [hit for hit in (*_blocks(tree.css("div.result")), *_rows(tree.css("tr"))) if hit is not None]
    if not hits and not tree.css_matches(".no-results, .no-results-message, span.no-results"):
        raise AnswerUnfit("the page has no results that can be read")
    return hits


def _blocks(blocks: list[LexborNode]) -> Iterator[Hit | None]:
    """The page with all its style: a block for each result."""
    for block in blocks:
        if "result--ad" not in (block.attributes.get("class") or ""):
            yield _hit(block.css_first("a.result__a"), block.css_first(".result__snippet"))


def _rows(rows: list[LexborNode]) -> Iterator[Hit | None]:
    """The page without style: a row with the link, then one with the text."""
    link: LexborNode | None = None
    for row in rows:
        if "result-sponsored" in (row.attributes.get("class") or ""):
            continue
        found, snippet = row.css_first("a.result-link"), row.css_first("td.result-snippet")
        if found is not None:
            if link is not None:
                yield _hit(link, None)
            link = found
        elif snippet is not None and link is not None:
            yield _hit(link, snippet)
            link = None
    yield _hit(link, None)


def _hit(link: LexborNode | None, snippet: LexborNode | None) -> Hit | None:
    if link is None:
        return None
    url = _unwrapped(link.attributes.get("href") or "")
    text = " ".join(snippet.text().split()) if snippet is not None else ""
    return _made(" ".join(link.text().split()), url, snippet=text)


def _unwrapped(href: str) -> str:
    """Where a link leads that goes through the search engine."""
    try:
        parts = urlsplit(href)
    except ValueError:
        return href
    return next(iter(parse_qs(parts.query).get("uddg", [])), href) if parts.path == "/l/" else href


def _ask_searxng(query: str, region: str) -> dict[str, str]:
    country, _, language = region.partition("-")
    known = {"language": f"{language}-{country.upper()}"} if language and region != "wt-wt" else {}
    return {"q": query, "format": "json", **known}


def read_searxng(text: str) -> list[Hit]:
    """What its JSON has."""
    try:
        results = orjson.loads(text)["results"]
    except (orjson.JSONDecodeError, LookupError, TypeError):
        raise AnswerUnfit("the answer has no results as JSON") from None
    if not isinstance(results, list):
        raise AnswerUnfit("the answer has no results as JSON")
    listed = (cast("dict[str, Any]", each) for each in cast("list[Any]", results) if isinstance(each, dict))
    hits = (_made(each.get("title"), each.get("url"), snippet=each.get("content")) for each in listed)
    return [hit for hit in hits if hit is not None]


def _made(title: Any, url: Any, *, snippet: Any) -> Hit | None:
    """A result, if it leads anywhere on the web."""
    address = str(url or "")
    try:
        parts = urlsplit(address)
    except ValueError:
        return None
    if parts.scheme not in {"http", "https"} or not parts.hostname or len(address) > 2 * _LONGEST:
        return None
    return {"title": str(title or "")[:_LONGEST], "url": address, "snippet": str(snippet or "")[:_LONGEST]}


KINDS: Mapping[str, Kind] = {
    "duckduckgo": Kind(_ask_duckduckgo, read_duckduckgo),
    "searxng": Kind(_ask_searxng, read_searxng),
}
