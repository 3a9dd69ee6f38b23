"""http_get and http_post: one request, and what the server says to it."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from callgate.adapters.function import tool
from callgate.model.tool_context import ToolContext
from callgate.registry.health import ANY_HOST
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
    optional={
        "headers_left_out": {"type": "array", "items": {"type": "string"}},
        "error": {"type": "string"},
        "note": {"type": "string"},
    },
)
_NO_TEXT = re.compile("[\0\ufffd]")
"""What texts do not have, or what stands for a character that could not be read."""
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
    # Not with orjson: whole numbers of more than 64 bits are arguments like others, and it writes none.
    written = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return written.encode(), {"content-type": "application/json", **sent}


class HttpTools:
    """Requests over one network."""

    def __init__(self, network: Network) -> None:
        self._network = network

    @tool(
        effects=["read_only", "network_access"],
        scopes=["net:outbound"],
        capabilities=[ANY_HOST],
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
        if ctx.ends_at is None:
            # In the first try: the seconds are for all of them together, and the gate begins none behind their end.
            ctx.ends_at = started + timeout
        limits = Limits(seconds=timeout, left=max(0.0, ctx.ends_at - started), content=_LARGEST_BODY)
        answer = await Client(self._network, ctx.grounds()).get(url, headers=sendable(headers), limits=limits)
        return _told(answer, started)

    @tool(
        effects=["network_access"],
        scopes=["net:outbound"],
        capabilities=[ANY_HOST],
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
    headers, left_out = shown(answer.headers)
    told: dict[str, Any] = {
        "status_code": answer.status,
        "headers": headers,
        "body": text[:LONGEST_BODY],
        "truncated": len(text) > LONGEST_BODY or not answer.complete,
        "url": answer.url,
        "elapsed_ms": round((time.monotonic() - started) * 1000, 1),
    }
    if left_out:
        told["headers_left_out"] = left_out
    if _NO_TEXT.search(told["body"]):
        told["note"] = "the body is no text, or none in the encoding it has by what is said of it: parts of it are lost"
    if answer.leads_to:
        told["error"] = f"the server leads to {answer.leads_to[:500]}; nothing was sent there"
    elif answer.leads_to is not None:
        told["error"] = f"the server answered {answer.status}, a redirect, and does not say where to"
    elif answer.status >= _FAILED:
        told["error"] = f"the server answered {answer.status}"
    return told
