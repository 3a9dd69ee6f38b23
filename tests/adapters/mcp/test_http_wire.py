"""Plain HTTP to a server over connections of our own: whole answers, kept connections, and whatever a server sends."""

import asyncio
import socket
import threading
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import httpx2
import pytest

from callgate.adapters.mcp import http_session
from callgate.adapters.mcp.http_client import SessionClient
from callgate.adapters.mcp.http_session import SessionTransport

_JSON = b'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 7\r\n\r\n{"a":1}'
_SECONDS = 20


@dataclass
class Server:
    """Says what a test has it say, to each request the next; what it was sent is kept."""

    says: list[list[bytes]]
    """For each request the pieces of its answer; None of them left closes the connection."""
    connections: int = 0
    sent: list[bytes] = field(default_factory=list[bytes])
    port: int = 0
    closes: bool = False
    came: asyncio.Event = field(default_factory=asyncio.Event)
    """Set with the first request."""
    left: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the last of its connections has ended."""
    open: int = 0
    taken: int = 0
    """Pieces that somebody took."""

    async def serve(self, reading: asyncio.StreamReader, writing: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.open += 1
        try:
            while self.says:
                head = await reading.readuntil(b"\r\n\r\n")
                size = head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
                self.sent.append(head + await reading.readexactly(int(size or 0)))
                self.came.set()
                for piece in self.says.pop(0):
                    writing.write(piece)
                    await writing.drain()
                    self.taken += 1
                if self.closes:
                    break
            else:
                await reading.read()
        except (asyncio.IncompleteReadError, OSError):
            pass
        finally:
            writing.close()
            self.open -= 1
            if not self.open:
                self.left.set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"


@asynccontextmanager
async def speaking(*says: list[bytes], closes: bool = False) -> AsyncGenerator[tuple[Server, httpx2.AsyncClient]]:
    server = Server(list(says), closes=closes)
    listening = await asyncio.start_server(server.serve, "127.0.0.1", 0)
    server.port = listening.sockets[0].getsockname()[1]
    client = SessionClient({"x-own": "1"}, auth=None, advice=lambda: "")
    try:
        async with asyncio.timeout(_SECONDS), client:
            yield server, client
    finally:
        listening.close()


async def test_a_request_is_one_message_and_its_connection_is_kept():
    async with speaking([_JSON], [_JSON], [_JSON]) as (server, client):
        for _ in range(3):
            answer = await client.post(server.url, json={"hello": "world"})
            assert answer.json() == {"a": 1}
    assert server.connections == 1
    assert server.sent[0].startswith(b"POST /mcp HTTP/1.1\r\n")
    assert b"x-own: 1\r\n" in server.sent[0]
    assert server.sent[0].endswith(b'\r\n\r\n{"hello":"world"}')


async def test_requests_at_once_have_a_connection_each():
    async with speaking([_JSON], [_JSON]) as (server, client):
        await asyncio.gather(*(client.get(server.url) for _ in range(2)))
        assert server.connections == 2


async def test_a_connection_that_was_closed_meanwhile_is_not_used_again():
    async with speaking([_JSON], [_JSON], closes=True) as (server, client):
        assert (await client.get(server.url)).json() == {"a": 1}
        assert await _until_answered(client, server) == {"a": 1}
        assert server.connections == 2


async def _until_answered(client: httpx2.AsyncClient, server: Server) -> object:
    """Whether the closing has arrived is not ours to say; a request that met it is told so, and never lost."""
    while True:
        try:
            return (await client.get(server.url)).json()
        except httpx2.TransportError:
            continue


_EARLY = b"HTTP/1.1 100 Continue\r\n\r\n"
_CHUNKED = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n"
_HUGE = b"HTTP/1.1 200 OK\r\nx: " + b"y" * 200_000 + b"\r\n\r\n"
_OTHER = b"HTTP/1.1 101 Switching\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n"
_TO_THE_END = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n"


@pytest.mark.parametrize(
    ("pieces", "closes"),
    [
        pytest.param([_EARLY, _JSON], False, id="after an early word"),
        pytest.param([_CHUNKED, b'3\r\n{"a\r\n', b'4\r\n":1}\r\n', b"0\r\n\r\n"], False, id="in chunks"),
        pytest.param([_TO_THE_END, b'{"a":', b"1}"], True, id="up to the end of the connection"),
        pytest.param([_JSON[:20], _JSON[20:60], _JSON[60:]], False, id="in pieces"),
    ],
)
async def test_answers_come_in_many_ways(pieces: list[bytes], closes: bool):
    async with speaking(pieces, closes=closes) as (server, client):
        assert (await client.post(server.url, json={})).json() == {"a": 1}


@pytest.mark.parametrize(
    ("pieces", "what"),
    [
        pytest.param([b"garbage\r\n\r\n"], httpx2.RemoteProtocolError, id="no HTTP"),
        pytest.param([_JSON[:-2]], httpx2.RemoteProtocolError, id="cut off"),
        pytest.param([], httpx2.RemoteProtocolError, id="nothing"),
        pytest.param([_HUGE], httpx2.RemoteProtocolError, id="a huge head"),
        pytest.param(
            [b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\ncontent-length: 7\r\n\r\nabc"],
            httpx2.RemoteProtocolError,
            id="two lengths",
        ),
        pytest.param([_OTHER], httpx2.TransportError, id="another protocol"),
    ],
)
async def test_what_is_no_answer_is_told_and_its_connection_closed(pieces: list[bytes], what: type[Exception]):
    async with speaking(pieces, [_JSON], closes=True) as (server, client):
        with pytest.raises(what):
            await client.post(server.url, json={})
        assert (await client.post(server.url, json={})).json() == {"a": 1}
        assert server.connections == 2


@pytest.mark.parametrize(
    ("head", "piece"),
    [
        pytest.param(b"HTTP/1.1 200 OK\r\nx-long: ", b"a" * 65536, id="a value"),
        pytest.param(b"HTTP/1.1 200 OK\r\nx-", b"a" * 65536, id="a name"),
        pytest.param(b"HTTP/1.1 200 ", b"a" * 65536, id="a reason"),
        pytest.param(b"", _EARLY * 2000, id="early words"),
        pytest.param(_CHUNKED + b"0\r\nx-trailer: ", b"a" * 65536, id="a trailer"),
        pytest.param(_CHUNKED + b"0\r\n", b"x-trailer: a\r\n" * 4000, id="trailers"),
        pytest.param(_CHUNKED + b"1;", b"a" * 65536, id="an extension"),
    ],
)
async def test_what_never_ends_is_not_taken(head: bytes, piece: bytes):
    pieces = 400
    async with speaking([head, *([piece] * pieces)], [_JSON]) as (server, client):
        with pytest.raises(httpx2.RemoteProtocolError):
            await client.post(server.url, json={})
        async with asyncio.timeout(_SECONDS):
            await server.left.wait()
        assert server.taken < pieces


@pytest.mark.parametrize("size", [7, 150_000], ids=["with the head", "later"])
async def test_a_trailer_is_no_header(size: int):
    body = b"%x\r\n%s\r\n" % (size, b'{"a":1}'.ljust(size))
    says = _CHUNKED + body + b"0\r\nmcp-session-id: forged\r\n\r\n"
    async with speaking([says], [_JSON]) as (server, client):
        answer = await client.post(server.url, json={})
        assert answer.json() == {"a": 1}
        assert "mcp-session-id" not in answer.headers
        assert (await client.post(server.url, json={})).json() == {"a": 1}
        assert server.connections == 1


async def test_a_second_answer_is_the_answer_to_nothing():
    async with speaking([_JSON + _JSON.replace(b"1}", b"2}")], [_JSON]) as (server, client):
        for _ in range(2):
            assert (await client.post(server.url, json={})).json() == {"a": 1}
        assert server.connections == 2


async def test_too_large_an_answer_is_not_read(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("callgate.adapters.mcp.http_bounds.LARGEST_ANSWER", 1000)
    large = b'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2000\r\n\r\n"' + b"x" * 1998 + b'"'
    async with speaking([large], [_JSON]) as (server, client):
        with pytest.raises(httpx2.ReadError):
            await client.post(server.url, json={})
        assert (await client.post(server.url, json={})).json() == {"a": 1}


async def test_a_stream_is_read_as_it_comes_and_left_when_it_is():
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
    async with speaking([head, b"6\r\ndata: \r\n", b"3\r\n1\n\n\r\n"], [_JSON]) as (server, client):
        async with client.stream("GET", server.url) as answer:
            pieces, heard = answer.aiter_raw(), b""
            while heard != b"data: 1\n\n":
                heard += await anext(pieces)
        assert (await client.get(server.url)).json() == {"a": 1}
        assert server.connections == 2


async def test_a_server_that_says_more_than_is_read_has_to_wait():
    size = 4 * 1024 * 1024
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: %d\r\n\r\n" % size
    async with (
        speaking([head, *([b"x" * 65536] * (size // 65536))]) as (server, client),
        client.stream("GET", server.url) as answer,
    ):
        assert sum([len(piece) async for piece in answer.aiter_raw()]) == size


async def test_a_connection_that_was_closed_while_the_loop_was_busy_is_not_used_again():
    listening = socket.create_server(("127.0.0.1", 0))
    closed = threading.Event()

    def serve() -> None:
        for _ in range(2):
            peer, _ = listening.accept()
            with peer:
                peer.recv(65536)
                peer.sendall(_JSON)
                asked.wait(_SECONDS)
            closed.set()

    asked = threading.Event()
    serving = threading.Thread(target=serve, daemon=True)
    serving.start()
    url = f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"
    async with asyncio.timeout(_SECONDS), SessionClient({}, auth=None, advice=lambda: "") as client:
        assert (await client.get(url)).json() == {"a": 1}
        asked.set()
        assert closed.wait(_SECONDS)  # and the loop has no turn meanwhile
        assert (await client.get(url)).json() == {"a": 1}
    serving.join(_SECONDS)
    listening.close()


async def test_an_answer_that_we_cut_is_not_whole():
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\n"
    async with speaking([head + b"paid 5"]) as (server, client), client.stream("GET", server.url) as answer:
        pieces = answer.aiter_raw()
        assert await anext(pieces) == b"paid 5"
        await client.__aexit__()
        with pytest.raises(httpx2.ReadError):
            await anext(pieces)


async def test_a_header_is_one_header():
    async with speaking([_JSON]) as (server, client):
        with pytest.raises(httpx2.LocalProtocolError):
            await client.post(server.url, json={}, headers={"x-more": "1\r\nx-own: 2"})
        assert server.connections == 0


async def test_a_silent_server_is_given_up():
    async with speaking([]) as (server, client):
        with pytest.raises(httpx2.ReadTimeout):
            await client.post(server.url, json={}, timeout=httpx2.Timeout(5, read=0.05))
        with pytest.raises(httpx2.ConnectError):
            await client.post("http://127.0.0.1:9/", json={})


async def test_who_lets_go_frees_the_connection(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(http_session, "_AT_ONCE", 1)
    async with speaking([], [_JSON]) as (server, client):
        waiting = asyncio.ensure_future(client.post(server.url, json={}))
        await server.came.wait()
        with pytest.raises(httpx2.PoolTimeout):
            await client.post(server.url, json={}, timeout=httpx2.Timeout(5, pool=0.05))
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert (await client.post(server.url, json={})).json() == {"a": 1}


async def test_a_session_that_is_over_has_closed_its_connections():
    async with speaking([_JSON], [_JSON]) as (server, client):
        await asyncio.gather(*(client.get(server.url) for _ in range(2)))
        await client.__aexit__()
        async with asyncio.timeout(_SECONDS):
            await server.left.wait()
    assert server.connections == 2


async def test_what_is_secret_on_the_way_is_the_librarys(monkeypatch: pytest.MonkeyPatch):
    asked: list[str] = []

    async def asked_there(_self: object, request: httpx2.Request) -> httpx2.Response:
        asked.append(request.url.scheme)
        return httpx2.Response(200, content=b"")

    monkeypatch.setattr(httpx2.AsyncHTTPTransport, "handle_async_request", asked_there)
    async with httpx2.AsyncClient(transport=SessionTransport()) as client:
        await client.get("https://127.0.0.1:9/")
    assert asked == ["https"]
