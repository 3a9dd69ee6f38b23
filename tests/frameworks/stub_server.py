"""A provider on loopback: it answers by a script, remembers what it was asked, and refuses what the real one would.

Speaks HTTP/1.1 with JSON bodies and server-sent events, on asyncio alone. What a provider's requests and answers look
like is said by `stub_anthropic` and `stub_openai`:

    async with AnthropicStub([message(use("toolu_1", "weather", city="Oslo")), message(text("Clear."))]) as stub:
        client = AsyncAnthropic(base_url=stub.url, api_key="none", max_retries=0)

A script is a list of answers, one for each request that is in order, or a function of the request. An answer is a body,
a `Fault`, a `Cut`, or a function of the request that gives one of these.
"""

from __future__ import annotations

import asyncio
import inspect
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import TracebackType
from typing import Any, ClassVar, NamedTuple, Self, cast

Body = dict[str, Any]
_LONGEST = 30.0


class Request(NamedTuple):
    """What was asked."""

    path: str
    headers: Mapping[str, str]
    body: Body


class Fault(NamedTuple):
    """An answer that is an error, as a provider in trouble gives it."""

    status: int
    headers: Mapping[str, str] = {"retry-after-ms": "1"}
    """By themselves they make an SDK that tries again do so at once."""


class Cut(NamedTuple):
    """A connection that ends too early: before any answer, or after some events of a streamed one."""

    answer: Body | None = None
    events: int = 0
    clean: bool = False
    """Whether the stream is ended in order, as if it were whole."""


Answer = Body | Fault | Cut | Callable[[Request], Any]
Script = Iterable[Answer] | Callable[[Request], Any]


class Refused(Exception):
    """A request that the real provider would not take."""


class StubServer(ABC):
    """A server; `async with` starts and stops it."""

    prefix: ClassVar[str] = ""
    """What an SDK's `base_url` has behind the host."""

    def __init__(self, script: Script = ()) -> None:
        self._choose = script if callable(script) else None
        self._left: list[Answer] = [] if callable(script) else list(script)
        self._server: asyncio.Server | None = None
        self._under_way: set[asyncio.Task[None]] = set()
        self.requests: list[Request] = []
        """Everything that was asked and was in order, also what was answered by a fault."""
        self.refusals: list[str] = []
        """Why requests were refused."""

    @property
    def url(self) -> str:
        """The base URL for the SDK."""
        assert self._server is not None
        host, port = self._server.sockets[0].getsockname()[:2]
        return f"http://{host}:{port}{self.prefix}"

    @property
    def bodies(self) -> list[Body]:
        """The bodies of the requests."""
        return [request.body for request in self.requests]

    def answer_next(self, *answers: Answer) -> None:
        """Add to the script."""
        self._left.extend(answers)

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._meet, "127.0.0.1", 0, limit=2**24)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._under_way:
            task.cancel()
        await asyncio.gather(*self._under_way, return_exceptions=True)
        await self._server.wait_closed()

    def _meet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(self._serve(reader, writer))
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(_LONGEST):
                await self._reply(await _read(reader), writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # who asked has gone
        finally:
            writer.close()

    async def _reply(self, request: Request, writer: asyncio.StreamWriter) -> None:
        try:
            self.check(request)
        except Refused as fault:
            self.refusals.append(str(fault))
            await _send(writer, 400, self.error(400, str(fault)))
            return
        self.requests.append(request)
        answer = await self._answer(request)
        if isinstance(answer, Fault):
            await _send(writer, answer.status, self.error(answer.status, "the provider is in trouble"), answer.headers)
        elif isinstance(answer, Cut):
            await self._break_off(answer, request, writer)
        elif request.body.get("stream"):
            await _stream(writer, list(self.events(answer, request)))
        else:
            await _send(writer, 200, self.whole(answer, request))

    async def _answer(self, request: Request) -> Body | Fault | Cut:
        answer: Any = self._choose if self._choose is not None else self._next()
        while callable(answer):
            answer = answer(request)
            if inspect.isawaitable(answer):
                answer = await answer
        return cast("Body | Fault | Cut", answer)

    def _next(self) -> Answer:
        if self._left:
            return self._left.pop(0)
        self.refusals.append("the script is over")
        return Fault(400)

    async def _break_off(self, cut: Cut, request: Request, writer: asyncio.StreamWriter) -> None:
        if cut.answer is None:
            return
        if request.body.get("stream"):
            await _stream(writer, list(self.events(cut.answer, request))[: cut.events], whole=cut.clean)
            return
        text = json.dumps(self.whole(cut.answer, request)).encode()
        writer.write(_head(200, {"content-type": "application/json", "content-length": str(len(text))}))
        writer.write(text[: len(text) // 2])
        await writer.drain()

    @abstractmethod
    def check(self, request: Request) -> None:
        """Raise `Refused` for what the provider would refuse."""

    @abstractmethod
    def whole(self, answer: Body, request: Request) -> Body:
        """The answer in one piece."""

    @abstractmethod
    def events(self, answer: Body, request: Request) -> Iterator[tuple[str | None, Body | str]]:
        """The answer as events: a name where the provider gives one, and the data."""

    @abstractmethod
    def error(self, status: int, message: str) -> Body:
        """The body of an error."""


def refuse_unless(holds: object, fault: str) -> None:
    """Refuse the request by this reason unless it holds."""
    if not holds:
        raise Refused(fault)


def dicts(values: Any) -> list[Body]:
    """The objects of a list."""
    found = cast("list[Any]", values) if isinstance(values, list) else []
    return [cast("Body", each) for each in found if isinstance(each, dict)]


def halves(text: str) -> list[str]:
    """A text in two pieces, as a stream has it."""
    middle = len(text) // 2
    return [part for part in (text[:middle], text[middle:]) if part]


async def _read(reader: asyncio.StreamReader) -> Request:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
    text = await reader.readexactly(int(headers.get("content-length", "0")))
    return Request(head[0].split()[1], headers, json.loads(text or b"{}"))


async def _send(
    writer: asyncio.StreamWriter, status: int, body: Body, headers: Mapping[str, str] | None = None
) -> None:
    text = json.dumps(body).encode()
    told = {"content-type": "application/json", "content-length": str(len(text)), **(headers or {})}
    writer.write(_head(status, told) + text)
    await writer.drain()


async def _stream(
    writer: asyncio.StreamWriter, events: list[tuple[str | None, Body | str]], *, whole: bool = True
) -> None:
    writer.write(_head(200, {"content-type": "text/event-stream", "transfer-encoding": "chunked"}))
    for name, data in events:
        text = data if isinstance(data, str) else json.dumps(data)
        event = (f"event: {name}\n" if name else "") + f"data: {text}\n\n"
        writer.write(f"{len(event.encode()):x}\r\n{event}\r\n".encode())
        await writer.drain()
    if whole:
        writer.write(b"0\r\n\r\n")
    await writer.drain()


def _head(status: int, headers: Mapping[str, str]) -> bytes:
    lines = [f"HTTP/1.1 {status} Said", *(f"{name}: {value}" for name, value in headers.items()), "connection: close"]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")
