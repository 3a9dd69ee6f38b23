"""fetch_wikipedia: the beginning of an article, from the API of a MediaWiki."""

from __future__ import annotations

from typing import Annotated, Any, cast
from urllib.parse import urlencode

import orjson
from pydantic import Field

from callgate.adapters.function import tool
from callgate.model.tool_context import ToolContext
from callgate.tools.outbound.client import Client, Limits
from callgate.tools.outbound.headers import sendable
from callgate.tools.outbound.network import Network
from callgate.tools.outbound.schemas import reaches
from callgate.tools.outbound.troubles import AnswerUnfit, status_error
from callgate.tools.schemas import fields

_LIMITS = Limits(seconds=10, content=1024 * 1024)
_ANSWERED = 200
_ARTICLE = fields(
    {
        "title": {"type": "string"},
        "summary": {"type": "string"},
        "url": {"type": "string"},
        "categories": {"type": "array", "items": {"type": "string"}},
    }
)
_QUESTION = {
    "action": "query",
    "format": "json",
    "formatversion": "2",
    "redirects": "1",
    "prop": "extracts|info|categories",
    "inprop": "url",
    "explaintext": "1",
    "clshow": "!hidden",
    "cllimit": "50",
}


def make_fetch_wikipedia(network: Network, endpoint: str) -> Any:
    """The tool for one wiki."""

    @tool(
        effects=["read_only", "network_access"],
        scopes=["net:outbound"],
        egress=True,
        untrusted_output=True,
        timeout=30,
        resources=reaches([endpoint]),
        output_schema=_ARTICLE,
        examples=[{"title": "Call gate (Intel)", "sentences": 2}],
    )
    async def fetch_wikipedia(  # noqa: D417 - what the gate gives is not for the model
        title: Annotated[str, Field(pattern=r"\S", max_length=255)],
        *,
        ctx: ToolContext,
        sentences: Annotated[int, Field(ge=1, le=10)] = 5,
    ) -> dict[str, Any]:
        """Give the beginning of a Wikipedia article, with its address and categories.

        Args:
            title: The article's title; redirects of the encyclopedia are followed.
            sentences: How many sentences.
        """
        if "|" in title:
            raise ValueError("title names several articles; ask for one at a time")
        query = urlencode({**_QUESTION, "titles": title.strip(), "exsentences": str(sentences)})
        url = f"{endpoint}{'&' if '?' in endpoint else '?'}{query}"
        headers = sendable({"accept": "application/json"})
        answer = await Client(network, ctx.grounds()).get(url, headers=headers, limits=_LIMITS)
        if answer.status != _ANSWERED:
            raise status_error(answer.status, endpoint, retry_after=answer.header("retry-after"))
        return _article(_page(answer.content), title)

    return fetch_wikipedia


def _page(content: bytes) -> dict[str, Any]:
    try:
        page = orjson.loads(content)["query"]["pages"][0]
    except (orjson.JSONDecodeError, LookupError, TypeError):
        raise AnswerUnfit("the encyclopedia answered something else than an article") from None
    if not isinstance(page, dict):
        raise AnswerUnfit("the encyclopedia answered something else than an article")
    return page  # pyright: ignore[reportUnknownVariableType]


def _article(page: dict[str, Any], asked: str) -> dict[str, Any]:
    if page.get("missing") or page.get("invalid"):
        raise ValueError(f"title: there is no article {asked[:100]}; check the spelling, or use web_search to find it")
    given: Any = page.get("categories")
    categories = cast("list[Any]", given) if isinstance(given, list) else []
    return {
        "title": str(page.get("title", asked)),
        "summary": str(page.get("extract") or "").strip(),
        "url": str(page.get("canonicalurl") or page.get("fullurl") or ""),
        "categories": [_name(cast("dict[str, Any]", each)) for each in categories if isinstance(each, dict)],
    }


def _name(category: dict[str, Any]) -> str:
    """Without the word for categories before it."""
    title = str(category.get("title", ""))
    return title.partition(":")[2] or title
