"""A server that is reached by its URL: streamable HTTP through the SDK, with answers of bounded size."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import httpx2
    from mcp.client._transport import TransportStreams

    from callgate.adapters.mcp.oauth.keeper import Keeper

    Shown = Keeper | str
    """Who has what the server is shown; or what to do if it asks for something."""


@asynccontextmanager
async def http_transport(url: str, headers: Mapping[str, str], *, shown: Shown) -> AsyncGenerator[TransportStreams]:
    """The streams of a session with the server at that URL.

    The SDK follows no redirect to another origin, so that headers reach nobody they were not meant for.
    """
    from mcp.client.streamable_http import streamable_http_client  # noqa: PLC0415 - the SDK is loaded when needed

    from callgate.adapters.mcp.http_bounds import LARGEST_ANSWER  # noqa: PLC0415 - as above
    from callgate.adapters.mcp.http_client import SessionClient  # noqa: PLC0415 - as above

    async with (
        SessionClient(headers, auth=_bearer(url, shown), advice=lambda: _advice(shown)) as client,
        streamable_http_client(url, http_client=client, max_sse_event_size=LARGEST_ANSWER) as streams,
    ):
        yield streams


def _bearer(url: str, shown: Shown) -> httpx2.Auth | None:
    from callgate.adapters.mcp.oauth.bearer import Bearer  # noqa: PLC0415 - loads the HTTP client

    return None if isinstance(shown, str) else Bearer(url, shown)


def _advice(shown: Shown) -> str:
    return shown if isinstance(shown, str) else shown.advice
