"""web_search: asks one search backend after the other until one answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any
from urllib.parse import urlencode, urlsplit

from pydantic import Field

from callgate.adapters.function import tool
from callgate.model.grounds import Grounds
from callgate.model.tool_context import ToolContext
from callgate.settings.values import SearchBackend
from callgate.tools.outbound.client import Client, Limits
from callgate.tools.outbound.headers import sendable
from callgate.tools.outbound.network import Network
from callgate.tools.outbound.schemas import reaches
from callgate.tools.outbound.troubles import AnswerUnfit, StatusError, status_error
from callgate.tools.schemas import fields
from callgate.tools.web.apart import read_apart
from callgate.tools.web.search_backends import KINDS, Hit
from callgate.tools.web.texts import as_text

_LIMITS = Limits(seconds=15, content=1024 * 1024)
_ANSWERED = 200
_MOST = 20
_TEXT = {"type": "string"}
_FOUND = fields(
    {
        "query": _TEXT,
        "results": {"type": "array", "items": fields({"title": _TEXT, "url": _TEXT, "snippet": _TEXT})},
        "count": {"type": "integer"},
    }
)


class SearchFailed(ConnectionError):
    """No backend answered; the message says why of each. What could be tried again, was."""

    retryable = False


def make_web_search(network: Network, backends: Sequence[SearchBackend]) -> Any:
    """The tool for some backends."""

    @tool(
        effects=["read_only", "network_access"],
        scopes=["net:outbound"],
        egress=True,
        untrusted_output=True,
        timeout=60,
        resources=reaches([backend.url for backend in backends]),
        output_schema=_FOUND,
        examples=[{"query": "python asyncio timeout", "limit": 3}],
    )
    async def web_search(  # noqa: D417 - what the gate gives is not for the model
        query: Annotated[str, Field(pattern=r"\S", max_length=500)],
        *,
        ctx: ToolContext,
        limit: int = 5,
        max_results: int | None = None,
        region: Annotated[str, Field(pattern=r"^[a-z]{2}-[a-z]{2,3}$")] = "wt-wt",
        domain_filter: Annotated[str, Field(pattern=r"^[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+$", max_length=253)]
        | None = None,
    ) -> dict[str, Any]:
        """Search the web and give titles, addresses and snippets.

        Args:
            query: What to look for.
            limit: How many results at most, 1 to 20.
            max_results: Another name for limit.
            region: Country and language of the results, such as de-de; wt-wt is everywhere.
            domain_filter: Only results of this domain and those below it, such as python.org.
        """
        most = min(max(limit if max_results is None else max_results, 1), _MOST)
        words = query.strip() if domain_filter is None else f"{query.strip()} site:{domain_filter}"
        failures: list[str] = []
        for backend in backends:
            try:
                hits = await _ask(network, ctx.grounds(), backend=backend, words=words, region=region)
            except (OSError, ValueError, StatusError) as error:
                failures.append(f"{urlsplit(backend.url).hostname}: {error}")
                continue
            found = [hit for hit in hits if domain_filter is None or _is_within(hit["url"], domain_filter)][:most]
            return {"query": query, "results": found, "count": len(found)}
        raise SearchFailed(f"no search backend answered. {'; '.join(failures)}")

    return web_search


async def _ask(network: Network, grounds: Grounds, *, backend: SearchBackend, words: str, region: str) -> list[Hit]:
    kind = KINDS[backend.kind]
    url = f"{backend.url}{'&' if '?' in backend.url else '?'}{urlencode(kind.question(words, region))}"
    answer = await Client(network, grounds).get(url, headers=sendable(None), limits=_LIMITS)
    if answer.status != _ANSWERED:
        raise status_error(answer.status, backend.url)
    if not answer.complete:
        raise AnswerUnfit("the answer is too large, or broke off")
    return await read_apart(kind.read, as_text(answer))


def _is_within(url: str, domain: str) -> bool:
    host = (urlsplit(url).hostname or "").lower()
    return host == domain.lower() or host.endswith(f".{domain.lower()}")
