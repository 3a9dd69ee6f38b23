"""The bound on answers that come in one piece; the SDK bounds the events of a stream. Imports the HTTP client."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import cast

import httpx2

LARGEST_ANSWER = 16 * 1024 * 1024


class BoundedTransport(httpx2.AsyncHTTPTransport):
    """Counts what comes, and unpacks nothing."""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await super().handle_async_request(request)
        # Nothing compressed was asked for, and what unpacks to a thousand times its size is not unpacked.
        response.headers.pop("content-encoding", None)
        if not is_stream(response.headers):
            response.stream = BoundedStream(cast("httpx2.AsyncByteStream", response.stream))
        return response


def is_stream(headers: httpx2.Headers) -> bool:
    """Whether the answer is a stream of events."""
    return headers.get("content-type", "").lower().startswith("text/event-stream")


class BoundedStream(httpx2.AsyncByteStream):
    """The bytes of an answer, as long as they are not too many."""

    def __init__(self, stream: httpx2.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        seen = 0
        async for chunk in self._stream:
            seen += len(chunk)
            if seen > LARGEST_ANSWER:
                raise httpx2.ReadError(f"the answer has more than {LARGEST_ANSWER} bytes")
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()
