"""Messages of the protocol as lines of a pipe, and the ends of a session as the SDK takes them. Knows nobody's side.

Both sides of the gate speak in this way: to the servers it starts, and to a client that started it. The SDK's own
transport reads lines without a bound, and has a task and a queue for each direction.
"""

from __future__ import annotations

from asyncio import IncompleteReadError, LimitOverrunError
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from asyncio import StreamReader, StreamWriter
    from types import TracebackType

    from mcp.shared.message import SessionMessage

LARGEST_MESSAGE = 16 * 1024 * 1024
"""Bytes of one line; who says more is not read any further."""


class LinesEnded(Exception):
    """Nothing more will come; says why.

    Args:
        why: What the other side did.
        closed: Whether it only closed its end.
    """

    def __init__(self, why: str, *, closed: bool = False) -> None:
        super().__init__(why)
        self.closed = closed


async def read_message(reader: StreamReader) -> SessionMessage | ValueError:
    """The next line as a message, or why it is none.

    Raises:
        LinesEnded: Nothing more will come.
    """
    try:
        line = await reader.readuntil(b"\n")
    except IncompleteReadError:
        raise LinesEnded("it closed its output", closed=True) from None
    except LimitOverrunError:
        raise LinesEnded(f"it sent a message of more than {LARGEST_MESSAGE} bytes") from None
    except OSError as error:
        raise LinesEnded(f"reading from it failed ({type(error).__name__})") from None
    return _parsed(line)


def _parsed(line: bytes) -> SessionMessage | ValueError:
    from mcp.shared.message import SessionMessage  # noqa: PLC0415 - the SDK is loaded when it is needed
    from mcp_types import jsonrpc_message_adapter  # noqa: PLC0415 - as above

    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError as error:
        return error


class SessionEnd:
    """One direction of a session, as the SDK takes it; it is used where it is, with no task between."""

    def __init__(self) -> None:
        self.closed = False

    async def aclose(self) -> None:
        self.closed = True

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(  # noqa: PLR0917 - as the SDK calls it
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None:
        await self.aclose()


class Incoming(SessionEnd):
    """What comes, one after the other; `receive` says what that is."""

    async def receive(self) -> SessionMessage | Exception:
        """The next message, or why it is none.

        Raises:
            anyio.EndOfStream: Nothing more will come.
        """
        raise NotImplementedError

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        import anyio  # noqa: PLC0415 - comes with the SDK

        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None


class Outgoing(SessionEnd):
    """What is said, a line each."""

    def __init__(self, writer: StreamWriter) -> None:
        super().__init__()
        self._writer = writer

    async def send(self, item: SessionMessage, /) -> None:
        """Say it; where the other side does not read, once it does.

        Raises:
            anyio.BrokenResourceError: It reads no more.
        """
        import anyio  # noqa: PLC0415 - comes with the SDK

        text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
        try:
            # Before and not after: what waits for somebody who does not read is then held back by who says it.
            await self._writer.drain()
        except OSError:
            raise anyio.BrokenResourceError from None
        if self.closed or self._writer.is_closing():
            raise anyio.BrokenResourceError
        self._writer.write(text.encode() + b"\n")
