"""Messages as lines of a pipe: read however they are cut, and told where they end."""

import asyncio
import os
from itertools import pairwise

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCNotification

from callgate.adapters.mcp.lines import LARGEST_MESSAGE, Incoming, LinesEnded, Outgoing, read_message

_LINES = {
    b'{"jsonrpc":"2.0","method":"a"}': "a",
    b'{"jsonrpc":"2.0","method":"\xc3\xa9"}': "é",
    b'{"jsonrpc":"2.0","method":"c","params":{"x":[1,2]}}\r': "c",
    b"": None,
    b"\r": None,
    b"no message": None,
    b'{"jsonrpc":"2.0","method":': None,
    b"\xff\x00": None,
    b"[]": None,
}
"""Lines, and the method that each asks for; None where it is no message."""


async def _read(pieces: list[bytes]) -> tuple[list[str | None], LinesEnded]:
    reader = asyncio.StreamReader(limit=LARGEST_MESSAGE)
    feeding = asyncio.ensure_future(_feed(reader, pieces))
    found: list[str | None] = []
    try:
        while True:
            message = await read_message(reader)
            found.append(None if isinstance(message, ValueError) else getattr(message.message, "method", ""))
    except LinesEnded as why:
        await feeding
        return found, why


async def _feed(reader: asyncio.StreamReader, pieces: list[bytes]) -> None:
    for piece in pieces:
        reader.feed_data(piece)
        await asyncio.sleep(0)
    reader.feed_eof()


@given(
    lines=st.lists(st.sampled_from(list(_LINES)), max_size=8),
    rest=st.sampled_from([b"", b'{"jsonrpc":"2.0","method":"a"}', b"half"]),
    cuts=st.sets(st.integers(0, 300), max_size=20),
)
@settings(max_examples=100)
def test_lines_are_read_however_they_are_cut(lines: list[bytes], rest: bytes, cuts: set[int]) -> None:
    wire = b"".join(line + b"\n" for line in lines) + rest
    places = [0, *sorted(cut for cut in cuts if cut < len(wire)), len(wire)]
    pieces = [wire[first:end] for first, end in pairwise(places)]
    found, why = asyncio.run(_read([piece for piece in pieces if piece]))
    assert found == [_LINES[line] for line in lines]
    assert (str(why), why.closed) == ("it closed its output", True)


async def test_a_line_without_an_end_is_not_read_any_further() -> None:
    reader = asyncio.StreamReader(limit=100)
    reader.feed_data(b"x" * 201)
    for _ in range(2):
        with pytest.raises(LinesEnded, match=f"more than {LARGEST_MESSAGE} bytes") as told:
            await read_message(reader)
        assert not told.value.closed


async def test_a_pipe_that_breaks_is_an_end_and_says_how() -> None:
    reader = asyncio.StreamReader()
    reader.set_exception(ConnectionResetError("gone"))
    with pytest.raises(LinesEnded, match=r"reading from it failed \(ConnectionResetError\)"):
        await read_message(reader)


class _Two(Incoming):
    def __init__(self) -> None:
        super().__init__()
        self.left = 2

    async def receive(self) -> SessionMessage | Exception:
        if not self.left:
            raise anyio.EndOfStream
        self.left -= 1
        return ValueError(str(self.left))


async def test_what_comes_is_taken_one_after_the_other_until_it_ends() -> None:
    async with _Two() as coming:
        assert [str(each) async for each in coming] == ["1", "0"]
    assert coming.closed


async def test_nothing_is_said_to_who_is_gone_or_was_left() -> None:
    message = SessionMessage(JSONRPCNotification(jsonrpc="2.0", method="a"))
    reading, writing = os.pipe()
    loop = asyncio.get_running_loop()
    with os.fdopen(writing, "wb") as end:
        transport, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, end)
        going = Outgoing(asyncio.StreamWriter(transport, protocol, None, loop))
        await going.send(message)
        assert os.read(reading, 100) == b'{"jsonrpc":"2.0","method":"a"}\n'
        await going.aclose()
        with pytest.raises(anyio.BrokenResourceError):
            await going.send(message)
        transport.close()
        await asyncio.sleep(0)
    os.close(reading)
