"""Plain HTTP to servers that are odd, broken or hostile: what is right is read right, and what is wrong is told."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import httpx2
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from callgate.adapters.mcp.http_session import SessionTransport
from callgate.adapters.mcp.http_wire import Answer
from tests.adapters.mcp.odd_answers import Right, right_answers, splits, spoilt

_SECONDS = 20
_OWN = b'{"own":%d}'
# What fails is shown as it was drawn: a smaller one would be looked for with hundreds of servers.
_slowly = settings(
    phases=[Phase.explicit, Phase.generate],
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@dataclass
class Server:
    """Says to each request the next of what a test has it say, in those pieces."""

    says: list[tuple[list[bytes], bool]]
    """Pieces, and whether it ends the connection behind them."""
    port: int = 0
    writers: list[asyncio.StreamWriter] = field(default_factory=list[asyncio.StreamWriter])

    async def serve(self, reading: asyncio.StreamReader, writing: asyncio.StreamWriter) -> None:
        self.writers.append(writing)
        try:
            while True:
                await reading.readuntil(b"\r\n\r\n")
                pieces, ends = self.says.pop(0)
                for piece in pieces:
                    writing.write(piece)
                    await writing.drain()
                    await asyncio.sleep(0)
                if ends:
                    break
        except (asyncio.IncompleteReadError, IndexError, OSError):
            pass
        finally:
            writing.close()


@asynccontextmanager
async def _asking(
    *says: tuple[list[bytes], bool], patience: float = _SECONDS
) -> AsyncGenerator[tuple[httpx2.AsyncClient, str]]:
    server = Server(list(says))
    listening = await asyncio.start_server(server.serve, "127.0.0.1", 0)
    port = listening.sockets[0].getsockname()[1]
    timeout = httpx2.Timeout(_SECONDS, read=patience)
    try:
        async with (
            asyncio.timeout(_SECONDS),
            httpx2.AsyncClient(transport=SessionTransport(), timeout=timeout, trust_env=False) as client,
        ):
            yield client, f"http://127.0.0.1:{port}/mcp"
    finally:
        listening.close()
        for writer in server.writers:
            writer.close()
        await asyncio.gather(*(writer.wait_closed() for writer in server.writers), return_exceptions=True)


async def _told(client: httpx2.AsyncClient, url: str) -> bytes:
    """What came, or why nothing did."""
    try:
        return (await client.post(url)).content
    except httpx2.TransportError as error:
        return str(error).encode() or pytest.fail("it was not said why")


def _own(number: int) -> tuple[list[bytes], bool]:
    body = _OWN % number
    head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(body)
    return [head + body], False


def _has(response: httpx2.Response, right: Right) -> None:
    assert response.status_code == right.status
    assert response.content == right.body
    kept = [(name.lower(), value.strip()) for name, value in right.headers if name.lower() != b"content-encoding"]
    found = [(name.lower(), value) for name, value in response.headers.raw]
    assert [each for each in found if each in kept] == kept
    assert not [name for name, _ in found if name in {b"x-late", b"mcp-session-id"} - {name for name, _ in kept}]


@given(right=right_answers(), data=st.data())
@_slowly
def test_a_right_answer_is_read_right_however_it_is_split(right: Right, data: st.DataObject) -> None:
    answer = Answer()
    for piece in data.draw(splits(right.wire)):
        answer.feed(piece)
    assert (answer.status, answer.take()) == (right.status, right.body)
    assert answer.headers == [(name, value.strip()) for name, value in right.headers]
    assert answer.ends_with_connection is right.ends_with_connection
    assert (answer.done, answer.lets_go_on) == (not right.ends_with_connection, right.lets_go_on)


@pytest.mark.slow
@given(right=right_answers(), data=st.data())
@_slowly
def test_a_right_answer_reaches_who_asked_and_nobody_else(right: Right, data: st.DataObject) -> None:
    async def scenario() -> None:
        pieces = data.draw(splits(right.wire))
        says = (pieces, not right.lets_go_on)
        async with _asking(_own(1), says, _own(3)) as (client, url):
            assert (await client.post(url)).content == _OWN % 1
            _has(await client.post(url), right)
            assert (await client.post(url)).content == _OWN % 3

    asyncio.run(scenario())


@pytest.mark.slow
@given(right=right_answers(), ends=st.booleans(), data=st.data())
@_slowly
def test_whatever_a_server_says_is_an_answer_or_an_error_of_ours(right: Right, ends: bool, data: st.DataObject) -> None:
    """And the next call has the answer to itself."""

    async def scenario() -> None:
        pieces = data.draw(splits(data.draw(spoilt(right.wire))))
        async with _asking((pieces, ends), _own(2), _own(3), patience=0.3) as (client, url):
            assert _OWN % 2 not in await _told(client, url)
            assert (await client.post(url)).content == _OWN % 2
            assert (await client.post(url)).content == _OWN % 3

    asyncio.run(scenario())


@pytest.mark.slow
@given(right=right_answers(keeps=True), behind=right_answers() | st.binary(min_size=1, max_size=80), data=st.data())
@_slowly
def test_what_comes_behind_an_answer_is_the_answer_to_nothing(
    right: Right, behind: Right | bytes, data: st.DataObject
) -> None:
    async def scenario() -> None:
        more = behind.wire if isinstance(behind, Right) else behind
        pieces = data.draw(splits(right.wire + more) | splits(right.wire).map(lambda some: [*some, more]))
        async with _asking((pieces, False), _own(2)) as (client, url):
            _has(await client.post(url), right)
            assert (await client.post(url)).content == _OWN % 2

    asyncio.run(scenario())


_HEAD = b"HTTP/1.1 200 OK\r\n"
_CHUNKS = _HEAD + b"transfer-encoding: chunked\r\n\r\n"
_ENDLESS = {
    "blank lines": (b"", b"\r\n"),
    "a reason": (b"HTTP/1.1 200 ", b"OK"),
    "a name": (_HEAD, b"x"),
    "a value": (_HEAD + b"x: ", b"y"),
    "a blank value": (_HEAD + b"x:", b" "),
    "headers": (_HEAD, b"a:\r\n"),
    "early answers": (b"", b"HTTP/1.1 103 Early\r\nlink: x\r\n\r\n"),
    "the size of a chunk": (_CHUNKS, b"0"),
    "what stands beside a chunk": (_CHUNKS + b"5;", b"a"),
    "a trailer": (_CHUNKS + b"0\r\nx: ", b"y"),
    "trailers": (_CHUNKS + b"0\r\n", b"a: b\r\n"),
}
_MOST = 100 * 1024


def _takes(answer: Answer, piece: bytes) -> bool:
    try:
        answer.feed(piece)
    except httpx2.RemoteProtocolError:
        return False
    return True


@pytest.mark.parametrize("shape", _ENDLESS)
@given(size=st.integers(40, 20_000))
@settings(_slowly, max_examples=10)
def test_what_never_ends_is_given_up_in_whatever_pieces_it_comes(shape: str, size: int) -> None:
    begins, goes_on = _ENDLESS[shape]
    piece = goes_on * (size // len(goes_on) + 1)
    answer = Answer()
    answer.feed(begins)
    for _ in range(_MOST // len(piece)):
        if not _takes(answer, piece):
            return
    # That much was taken; what comes next is too much.
    assert not (_takes(answer, piece) and _takes(answer, piece))


@given(size=st.integers(1, 5000), chunk=st.integers(1, 5000))
@settings(_slowly, max_examples=10)
def test_a_body_is_counted_until_it_is_taken_however_it_is_cut(size: int, chunk: int) -> None:
    answer = Answer()
    wire = _CHUNKS + b"%x;a\r\n%s\r\n" % (chunk, b"x" * chunk) * 5
    for place in range(0, len(wire), size):
        answer.feed(wire[place : place + size])
    assert answer.unread == sum(map(len, answer.pieces)) == 5 * chunk
    assert answer.take() == b"x" * 5 * chunk
    assert (answer.unread, answer.take()) == (0, b"")


@pytest.mark.parametrize(
    "encoding", [b"gzip", b"gzip, chunked", b"chunked, gzip", b"identity", b"chunked\t", b"", b"chunked, chunked"]
)
async def test_an_encoding_that_nobody_asked_for_is_told(encoding: bytes) -> None:
    said = _HEAD + b"transfer-encoding: %s\r\n\r\n2\r\n{}\r\n0\r\n\r\n" % encoding
    async with _asking(([said], True), _own(2)) as (client, url):
        with pytest.raises(httpx2.RemoteProtocolError):
            await client.post(url)
        assert (await client.post(url)).content == _OWN % 2


async def test_blanks_around_a_value_are_none_of_it() -> None:
    said = _HEAD + b"mcp-session-id:\t abc \t\r\ncontent-type:application/json  \r\ncontent-length: 2 \r\n\r\n{}"
    async with _asking(([said], False)) as (client, url):
        answer = await client.post(url)
    assert (answer.headers["mcp-session-id"], answer.headers["content-type"]) == ("abc", "application/json")
    assert answer.content == b"{}"
