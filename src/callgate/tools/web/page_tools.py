"""web_fetch and fetch_docs: pages as text that can be read."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import urlsplit

from pydantic import Field

from callgate.adapters.function import tool
from callgate.model.tool_context import ToolContext
from callgate.registry.health import ANY_HOST
from callgate.tools.outbound.client import Client, Limits
from callgate.tools.outbound.headers import sendable
from callgate.tools.outbound.network import Network
from callgate.tools.outbound.schemas import Url
from callgate.tools.outbound.troubles import AnswerUnfit, status_error
from callgate.tools.schemas import fields
from callgate.tools.web.apart import read_apart
from callgate.tools.web.pages import LARGEST_PAGE, read_written
from callgate.tools.web.texts import HTML, as_text, media_type

if TYPE_CHECKING:
    from callgate.tools.outbound.transport import Answer

_FETCHING = 30
"""Seconds to fetch a page; reading it comes on top."""
_CHARACTERS = 4
"""So many of them are taken for a token."""
_FEWEST_TOKENS, _MOST_TOKENS = 100, 10_000
_SUCCEEDED = range(200, 300)
_PLAIN = frozenset(
    {"application/json", "application/xml", "application/yaml", "application/x-yaml", "application/javascript"}
)
_HTML_WANTED = {"accept": "text/html,application/xhtml+xml;q=0.9"}
_FETCHED = fields(
    {
        "url": {"type": "string"},
        "content": {"type": "string"},
        "truncated": {"type": "boolean"},
        "extracted_at": {"type": "string"},
    },
    optional={"title": {"type": "string"}, "redirected_from": {"type": "string"}, "note": {"type": "string"}},
)
_DOCS = fields(
    {
        "content": {"type": "string"},
        "url": {"type": "string"},
        "trust_level": {"enum": ["trusted", "unknown", "unchecked"]},
        "elapsed_ms": {"type": "number"},
        "truncated": {"type": "boolean"},
    },
    optional={"note": {"type": "string"}},
)
_NO_TEXT = {"note": "no text was found there; a page that scripts fill is not filled here, as none is run"}


class PageTools:
    """Pages, fetched over one network."""

    def __init__(self, network: Network, trusted: Sequence[str]) -> None:
        self._network = network
        self._trusted = tuple(trusted)

    @tool(
        effects=["read_only", "network_access"],
        scopes=["net:outbound"],
        capabilities=[ANY_HOST],
        egress=True,
        untrusted_output=True,
        timeout=60,
        output_schema=_FETCHED,
        examples=[{"url": "https://example.com/", "max_tokens": 500}],
    )
    async def web_fetch(  # noqa: D417 - what the gate gives is not for the model
        self, url: Url, *, ctx: ToolContext, max_tokens: int = 1000
    ) -> dict[str, Any]:
        """Fetch a web page and give its readable text as Markdown, without menus and advertisements.

        Args:
            url: The page; it must be HTML.
            max_tokens: How much text at most, 100 to 10000, at four characters each.
        """
        answer = await self._get(url, ctx, headers=_HTML_WANTED)
        if media_type(answer) not in HTML:
            instead = "; use fetch_docs for it" if _is_text(answer) else ""
            raise AnswerUnfit(f"{answer.url} is no HTML page but {_kind_of(answer)}{instead}")
        page = await _read(answer)
        content = page["content"]
        longest = min(max(max_tokens, _FEWEST_TOKENS), _MOST_TOKENS) * _CHARACTERS
        return {
            "url": answer.url,
            "content": content[:longest],
            "truncated": len(content) > longest or not answer.complete,
            "extracted_at": datetime.now(UTC).isoformat(timespec="seconds"),
            **({"title": page["title"]} if page["title"] else {}),
            **({"redirected_from": answer.redirected_from} if answer.redirected_from else {}),
            **({} if content else _NO_TEXT),
        }

    @tool(
        effects=["read_only", "network_access"],
        scopes=["net:outbound"],
        capabilities=[ANY_HOST],
        egress=True,
        untrusted_output=True,
        timeout=60,
        output_schema=_DOCS,
        examples=[{"url": "https://docs.python.org/3/library/json.html", "max_length": 4000}],
    )
    async def fetch_docs(  # noqa: D417 - what the gate gives is not for the model
        self,
        url: Url,
        *,
        ctx: ToolContext,
        max_length: Annotated[int, Field(ge=100, le=100_000)] = 8000,
        check_trust: bool = True,
    ) -> dict[str, Any]:
        """Fetch a page of documentation (HTML, Markdown, plain text, JSON) and give its text.

        Args:
            url: The page.
            max_length: How many characters at most.
            check_trust: Whether to say if the page's host is one of those the operator trusts.
        """
        started = time.monotonic()
        answer = await self._get(url, ctx, headers=None)
        text = await _readable(answer)
        return {
            "content": text[:max_length],
            "url": answer.url,
            "trust_level": self._trust(answer.url) if check_trust else "unchecked",
            "elapsed_ms": round((time.monotonic() - started) * 1000, 1),
            "truncated": len(text) > max_length or not answer.complete,
            **({} if text else _NO_TEXT),
        }

    async def _get(self, url: str, ctx: ToolContext, *, headers: dict[str, str] | None) -> Answer:
        limits = Limits(seconds=_FETCHING, content=LARGEST_PAGE)
        answer = await Client(self._network, ctx.grounds()).get(url, headers=sendable(headers), limits=limits)
        if answer.status not in _SUCCEEDED:
            raise status_error(answer.status, answer.url, retry_after=answer.header("retry-after"))
        return answer

    def _trust(self, url: str) -> str:
        parts = urlsplit(url)
        host = (parts.hostname or "").removesuffix(".")
        known = any(host == trusted or host.endswith(f".{trusted}") for trusted in self._trusted)
        # By http anybody on the way could have written it.
        return "trusted" if known and parts.scheme == "https" else "unknown"


async def _read(answer: Answer) -> dict[str, str]:
    return await read_apart(read_written, json.dumps([as_text(answer), answer.url]))


async def _readable(answer: Answer) -> str:
    if media_type(answer) in HTML:
        return (await _read(answer))["content"]
    if _is_text(answer):
        return as_text(answer)
    raise AnswerUnfit(f"{answer.url} is no text but {_kind_of(answer)}")


def _is_text(answer: Answer) -> bool:
    kind = media_type(answer)
    return kind.startswith("text/") or kind in _PLAIN or kind.endswith(("+json", "+xml"))


def _kind_of(answer: Answer) -> str:
    return media_type(answer)[:100] or "of no stated type"
