"""A server that is reached by its URL: streamable HTTP through the SDK, with answers of bounded size."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams


@asynccontextmanager
async def http_transport(url: str, headers: Mapping[str, str]) -> AsyncGenerator[TransportStreams]:
    """The streams of a session with the server at that URL.

    The SDK follows no redirect to another origin, so that headers reach nobody they were not meant for.
    """
    from mcp.client.streamable_http import streamable_http_client  # noqa: PLC0415 - the SDK is loaded when needed

    from callgate.adapters.mcp.http_bounds import LARGEST_ANSWER  # noqa: PLC0415 - as above
    from callgate.adapters.mcp.http_client import SessionClient  # noqa: PLC0415 - as above

    async with (
        SessionClient(headers, auth=None, advice=lambda: "the server asks for a sign-in") as client,
        streamable_http_client(url, http_client=client, max_sse_event_size=LARGEST_ANSWER) as streams,
    ):
        yield streams
