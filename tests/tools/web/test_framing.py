"""What stands around an answer: it is bounded, holds nobody up, and says where the answer ends. TOOL-02."""

from __future__ import annotations

import gzip
import itertools
import ssl
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from callgate import Callgate
from callgate.model.levels import Category
from callgate.tools.outbound.network import Network
from tests.tools.outbound.certificates import certified
from tests.tools.outbound.feeding import Feed
from tests.tools.outbound.outcomes import category_of
from tests.tools.outbound.walls import PUBLIC, Names
from tests.tools.web.gates import gate_with

CHUNKED = b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ntransfer-encoding: chunked\r\n\r\n"
LONG = b"a" * 60_000
NAMES = {"public.example": [[PUBLIC]]}
by_both = pytest.mark.parametrize("scheme", ["http", "https"])


@asynccontextmanager
async def gate_to(feed: Feed, scheme: str, folder: Path) -> AsyncGenerator[Callgate]:
    server, trusting = certified(folder, "public.example")
    # As some builds of Python have it by themselves.
    trusting.options |= ssl.OP_IGNORE_UNEXPECTED_EOF
    feed.tls = server if scheme == "https" else None
    network = Network(resolver=Names(NAMES), connector=feed, trust=lambda: trusting)
    async with gate_with(network) as gate:
        yield gate


def in_chunks(content: bytes, size: int) -> Iterator[bytes]:
    """What a server sends that writes that little at a time."""
    yield CHUNKED
    for at in range(0, len(content), size):
        part = content[at : at + size]
        yield b"%x\r\n%s\r\n" % (len(part), part)
    yield b"0\r\n\r\n"


ENDLESS = {
    "extensions of chunks": (CHUNKED, b"1;" + LONG + b"\r\nx\r\n"),
    "early hints": (b"", b"HTTP/1.1 103 Early Hints\r\nlink: " + LONG + b"\r\n\r\n"),
    "small early hints": (b"", b"HTTP/1.1 103 Early Hints\r\n\r\n" * 100),
}


@by_both
@pytest.mark.parametrize("what", list(ENDLESS))
async def test_what_frames_an_answer_is_not_read_without_end(tmp_path: Path, scheme: str, what: str) -> None:
    begin, again = ENDLESS[what]
    feed = Feed(pieces=lambda: itertools.chain([begin] if begin else [], itertools.repeat(again)))
    async with gate_to(feed, scheme, tmp_path) as gate:
        outcome = await gate.call("http_get", {"url": f"{scheme}://public.example/x"})
    assert category_of(outcome) is Category.RESOURCE
    assert "far more around its answer" in str(outcome)
    assert sum(feed.given) < 300_000


async def test_records_that_hold_next_to_nothing_are_not_read_without_end(tmp_path: Path) -> None:
    """What encrypts counts, too: bytes of a header that come one by one are thirty times as many."""
    head = b"HTTP/1.1 200 OK\r\nx-long: "
    feed = Feed(pieces=lambda: itertools.chain([head], itertools.repeat(b"a", 90_000)))
    async with gate_to(feed, "https", tmp_path) as gate:
        outcome = await gate.call("http_get", {"url": "https://public.example/x"})
    assert "far more around its answer" in str(outcome)
    assert sum(feed.given) < 300_000


async def told(gate: Callgate, scheme: str) -> dict[str, Any]:
    return (await gate.call("http_get", {"url": f"{scheme}://public.example/x"})).unwrap()


@pytest.mark.parametrize(("scheme", "size"), [("http", 1), ("http", 100), ("https", 5), ("https", 100)])
async def test_an_answer_in_small_chunks_is_read_whole(tmp_path: Path, scheme: str, size: int) -> None:
    """As of a model that writes: each word a chunk, and a record where it is encrypted."""
    content = b"word " * 16_000
    async with gate_to(Feed(pieces=lambda: in_chunks(content, size)), scheme, tmp_path) as gate:
        answer = await told(gate, scheme)
    assert (answer["body"], answer["truncated"]) == (content.decode(), False)


@by_both
async def test_a_packed_answer_in_small_chunks_is_read_whole(tmp_path: Path, scheme: str) -> None:
    packed = b"".join(in_chunks(gzip.compress(b"word " * 16_000), 7)).replace(
        b"\r\n", b"\r\ncontent-encoding: gzip\r\n", 1
    )
    async with gate_to(Feed(pieces=lambda: [packed]), scheme, tmp_path) as gate:
        answer = await told(gate, scheme)
    assert (answer["body"], answer["truncated"]) == ("word " * 16_000, False)


@by_both
async def test_headers_count_for_each_answer_anew(tmp_path: Path, scheme: str) -> None:
    """Nine redirects, each with as many headers as one answer may have."""
    way = iter(range(10))

    def answer() -> Iterator[bytes]:
        yield b"HTTP/1.1 103 Early Hints\r\nlink: " + LONG + b"\r\n\r\n"
        at = next(way)
        yield b"HTTP/1.1 302 Found\r\nlocation: /%d\r\n" % at if at < 9 else b"HTTP/1.1 200 OK\r\n"
        yield b"set-cookie: " + LONG + b"\r\ncontent-length: 4\r\n\r\nhere"

    async with gate_to(Feed(pieces=answer), scheme, tmp_path) as gate:
        assert (await told(gate, scheme))["body"] == "here"


HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n"


@pytest.mark.parametrize(
    ("sent", "says_end", "truncated"),
    [
        (HEAD + b"\r\nPay Ann 1", False, True),
        (HEAD + b"content-encoding: gzip\r\n\r\n" + gzip.compress(b"Pay Ann 1"), False, True),
        (HEAD + b"\r\nPay Ann 1", True, False),
        (HEAD + b"content-length: 9\r\n\r\nPay Ann 1", False, False),
        (CHUNKED + b"9\r\nPay Ann 1\r\n0\r\n\r\n", False, False),
    ],
    ids=["nothing says so", "only one member's end", "the server says so", "its length", "its last chunk"],
)
async def test_an_encrypted_answer_is_whole_where_its_server_says_that_it_ends(
    tmp_path: Path, sent: bytes, *, says_end: bool, truncated: bool
) -> None:
    """Anybody on the way can end a connection; without a length, only encryption tells that it was the server."""
    async with gate_to(Feed(pieces=lambda: [sent], says_end=says_end), "https", tmp_path) as gate:
        answer = await told(gate, "https")
    assert (answer["body"], answer["truncated"]) == ("Pay Ann 1", truncated)


@pytest.mark.parametrize("sent", [HEAD + b"content-length: 90\r\n\r\nPay Ann 1", CHUNKED + b"9\r\nPay Ann 1\r\n", HEAD])
async def test_an_encrypted_answer_that_breaks_off_before_its_own_end_is_lost(tmp_path: Path, sent: bytes) -> None:
    async with gate_to(Feed(pieces=lambda: [sent], says_end=False), "https", tmp_path) as gate:
        outcome = await gate.call("http_get", {"url": "https://public.example/x"})
    assert category_of(outcome) is Category.NETWORK
    assert "broke off" in str(outcome)
