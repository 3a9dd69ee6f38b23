"""Streams: pieces are small, and others have their turn between any two of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import httpcore2
import pytest

from callgate.tools.outbound.streams import CountedStream
from tests.tools.outbound.certificates import certified
from tests.tools.outbound.feeding import Feed

PIECE = 4096
CONTENT = [b"x" * 16_000] * 5


@asynccontextmanager
async def others() -> AsyncGenerator[list[None]]:
    """A list that becomes longer with each turn somebody else has."""
    turns: list[None] = []

    async def take_turns() -> None:
        while True:
            turns.append(None)
            await asyncio.sleep(0)

    task = asyncio.create_task(take_turns())
    try:
        yield turns
    finally:
        task.cancel()


async def read_all(stream: httpcore2.AsyncNetworkStream) -> AsyncGenerator[bytes]:
    while piece := await stream.read(65536):
        yield piece


@pytest.mark.parametrize("encrypted", [False, True])
async def test_others_have_their_turn_between_any_two_small_pieces(tmp_path: Path, *, encrypted: bool) -> None:
    server, trusting = certified(tmp_path, "public.example")
    feed = Feed(pieces=lambda: CONTENT, tls=server if encrypted else None)
    counted = CountedStream(await feed.connect("", 0, timeout=1), host="public.example")
    stream = await counted.start_tls(trusting, "public.example") if encrypted else counted
    async with others() as turns:
        seen = [(len(piece), len(turns)) async for piece in read_all(stream)]
    assert sum(size for size, _ in seen) == sum(map(len, CONTENT))
    assert max(size for size, _ in seen) <= PIECE
    assert max(feed.given) <= PIECE
    assert len({turn for _, turn in seen}) == len(seen)
