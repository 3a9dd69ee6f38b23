"""http_get and http_post: one request, and what the server says to it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import orjson
from pydantic import Field

from callgate.adapters.function import tool
from callgate.model.tool_context import ToolContext
from callgate.tools.outbound.client import Client, Limits
from callgate.tools.outbound.headers import sendable, shown
from callgate.tools.outbound.network import Network
from callgate.tools.outbound.schemas import Headers, Url
from callgate.tools.schemas import fields
from callgate.tools.web.texts import as_text

if TYPE_CHECKING:
    from callgate.tools.outbound.transport import Answer

LONGEST_BODY = 100_000
_LARGEST_BODY = 4 * LONGEST_BODY
"""Bytes: no character takes more than four."""
_LONGEST_WAIT = 120
_REDIRECTED = range(300, 400)
_FAILED = 400
_ANSWERED = fields(
    {
        "status_code": {"type": "integer"},
        "headers": {"type": "object", "additionalProperties": {"type": "string"}},
        "body": {"type": "string", "maxLength": LONGEST_BODY},
        "truncated": {"type": "boolean"},
        "url": {"type": "string"},
        "elapsed_ms": {"type": "number"},
    },
    optional={"error": {"type": "string"}},
)
_Seconds = Annotated[int, Field(ge=1, le=_LONGEST_WAIT)]


def _reaches(arguments: Mapping[str, Any]) -> dict[str, list[str]]:
    """Its URL, and nothing that its data speaks of."""
    return {"hosts": [arguments["url"]]}


def _would_send(arguments: Mapping[str, Any], _context: ToolContext) -> str:
    """The request, as it would be sent; http_post's preview."""
    content, headers = _body(arguments.get("data"), arguments.get("headers"))
    lines = [f"POST {arguments['url']}", *(f"{name}: {value}" for name, value in headers.items())]
    return "\n".join([*lines, "", content.decode()])


def _body(data: Mapping[str, Any] | None, headers: Mapping[str, str] | None) -> tuple[bytes, dict[str, str]]:
    sent = sendable(headers)
    if data is None:
        return b"", sent
    return orjson.dumps(data), {"content-type": "application/json", **sent}


class HttpTools:
    """Requests over one network."""

    def __init__(self, network: Network) -> None:
        self._network = network

    @tool(
        effects=["read_only", "network_access"],
        scopes=["net:outbound"],
        egress=True,
        untrusted_output=True,
        timeout=_LONGEST_WAIT + 5,
        output_schema=_ANSWERED,
        examples=[{"url": "https://example.com/"}],
    )
    async def http_get(  # noqa: D417 - what the gate gives is not for the model
        self, url: Url, *, ctx: ToolContext, headers: Headers | None = None, timeout: _Seconds = 30
    ) -> dict[str, Any]:
        """Fetch a URL by http or https and give the server's answer as text; redirects are followed.

        Args:
            url: What to fetch.
            headers: Headers to send; to another origin only accept, accept-language and user-agent go along.
            timeout: Seconds for all of it.
        """
        started = time.monotonic()
        limits = Limits(seconds=timeout, content=_LARGEST_BODY)
        answer = await Client(self._network, ctx.grounds()).get(url, headers=sendable(headers), limits=limits)
        return _told(answer, started)

    @tool(
        effects=["network_access"],
        scopes=["net:outbound"],
        risk="medium",
        destructive=False,
        idempotent=False,
        egress=True,
        untrusted_output=True,
        timeout=_LONGEST_WAIT + 5,
        resources=_reaches,
        preview=_would_send,
        marks_effect=True,
        output_schema=_ANSWERED,
        examples=[{"url": "https://example.com/notes", "data": {"title": "Hello"}}],
    )
    async def http_post(  # noqa: D417 - what the gate gives is not for the model
        self,
        url: Url,
        *,
        ctx: ToolContext,
        data: dict[str, Any] | None = None,
        headers: Headers | None = None,
        timeout: _Seconds = 30,
    ) -> dict[str, Any]:
        """Send JSON to a URL by http or https and give the server's answer as text.

        A redirect is not followed: the answer says where it leads, and nothing is sent there.

        Args:
            url: Where to send it.
            data: What to send, as JSON; without it, an empty body.
            headers: Headers to send with it.
            timeout: Seconds for all of it.
        """
        content, sent = _body(data, headers)
        client = Client(self._network, ctx.grounds())
        client.judge(url)
        started = time.monotonic()
        async with ctx.effect():
            limits = Limits(seconds=timeout, content=_LARGEST_BODY)
            answer = await client.post(url, content, headers=sent, limits=limits)
        return _told(answer, started)


def _told(answer: Answer, started: float) -> dict[str, Any]:
    text = as_text(answer)
    told: dict[str, Any] = {
        "status_code": answer.status,
        "headers": shown(answer.headers),
        "body": text[:LONGEST_BODY],
        "truncated": len(text) > LONGEST_BODY or not answer.complete,
        "url": answer.url,
        "elapsed_ms": round((time.monotonic() - started) * 1000, 1),
    }
    if answer.status in _REDIRECTED and answer.header("location"):
        told["error"] = f"the server leads to {answer.header('location')[:500]}; nothing was sent there"
    elif answer.status >= _FAILED:
        told["error"] = f"the server answered {answer.status}"
    return told
