"""2,000 who listen to what is recorded while 200 calls a second are made: what is missed, what fails, what it takes.

Most of them follow one trace each, as whoever watches an agent at work does; some hear everything, as a console of
people's own making does. Each call is followed through: every listener must be told of every event that is theirs.
"""

from __future__ import annotations

import asyncio
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).parents[1]
_CALLGATE = [sys.executable, "-m", "callgate"]
_LISTENERS = 2000
_HEAR_ALL = 20
_PER_SECOND = 200
_SECONDS = 60
_CALLERS = 16
_EVENTS_OF_A_CALL = 2
_BEFORE = 12_000
"""Calls that are made before: then the store's caches, which have their bounds, are full and pass for no leak."""
_SETTLED = 5
"""Seconds after the first listener's call from which on memory is compared."""
_PATIENCE = 20.0
_TOOL = '''
from callgate import tool

@tool(effects="read_only")
async def word_count(text: str) -> int:
    """Count the words in a text."""
    return len(text.split())
'''
_CONFIG = "version: 1\nmodules: [listened]\nserve: {requests_per_second: 100000, requests_at_once: 100000}\n"


@dataclass(slots=True)
class Told:
    """What came of it all."""

    errors: Counter[str] = field(default_factory=Counter[str])
    latencies: list[float] = field(default_factory=list[float])
    memory: list[tuple[float, float]] = field(default_factory=list[tuple[float, float]])
    """Seconds since the first call, and the server's megabytes."""


class Listener(asyncio.Protocol):
    """One open stream; counts the events that come, and when the last one did."""

    def __init__(self, request: bytes) -> None:
        self._request = request
        self._rest = b""
        self.begun = asyncio.get_running_loop().create_future()
        self.events = 0
        self.last = 0
        """The position that it was told last."""
        self.fault: str | None = None
        self.leaves = False

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        if not self.begun.done():
            self.begun.set_result(data.startswith(b"HTTP/1.1 200"))
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            if line.startswith(b"id: "):
                self._take(int(line[4:]))

    def _take(self, position: int) -> None:
        if position <= self.last:
            self.fault = "told twice, or out of order"
        self.last = position
        self.events += 1

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.leaves:
            self.fault = f"cut off ({type(exc).__name__ if exc else 'closed'})"


@dataclass(frozen=True, slots=True)
class Served:
    """A server of its own, and who may ask it."""

    host: str
    port: int
    process: int
    agent: str
    reader: str

    def request(self, line: str, token: str, body: bytes = b"") -> bytes:
        head = f"{line} HTTP/1.1\r\nHost: {self.host}:{self.port}\r\nAuthorization: Bearer {token}\r\n"
        kind = f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n" if body else ""
        return f"{head}{kind}\r\n".encode() + body


@asynccontextmanager
async def _served(folder: Path) -> AsyncGenerator[Served]:
    (folder / "callgate.yaml").write_text(_CONFIG)
    (folder / "listened.py").write_text(_TOOL)
    environment = {
        "PATH": "/usr/bin:/bin", "HOME": str(folder), "PYTHONPATH": f"{_ROOT / 'src'}:{_ROOT}:{folder}"
    }  # fmt: skip

    def token(*words: str) -> str:
        made = subprocess.run(
            [*_CALLGATE, "tokens", *words, "--json"], cwd=folder, env=environment, capture_output=True, check=True
        )
        return json.loads(made.stdout)["token"]

    agent, reader = token("agent", "bench"), token("person", "ada")
    process = await asyncio.create_subprocess_exec(
        *_CALLGATE, "serve", "--port", "0", cwd=folder, env=environment, stderr=asyncio.subprocess.PIPE
    )
    try:
        assert process.stderr is not None  # it was asked for
        line = b""
        while b"at http://" not in line:
            line = await process.stderr.readline()
        where = line.split(b"at http://")[1].strip().decode()
        host, _, port = where.partition(":")
        yield Served(host, int(port), process.pid, agent, reader)
    finally:
        process.terminate()
        await process.communicate()


async def _fill(served: Served) -> None:
    reading, writing = await asyncio.open_connection(served.host, served.port)
    calls = [{"tool": "word_count", "arguments": {"text": "a b c"}}] * 100
    body = json.dumps({"calls": calls, "context": {"trace_id": "before"}}).encode()
    for _ in range(_BEFORE // len(calls)):
        writing.write(served.request("POST /api/v1/calls/batch", served.agent, body))
        await _answer(reading)
    writing.close()


async def _answer(reading: asyncio.StreamReader) -> tuple[bytes, Any]:
    head = await reading.readuntil(b"\r\n\r\n")
    size = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
    return head, json.loads(await reading.readexactly(size))


async def _listen(served: Served, queries: Sequence[str]) -> list[Listener]:
    loop, found = asyncio.get_running_loop(), list[Listener]()
    for query in queries:
        request = served.request(f"GET /api/v1/events/stream{query}", served.reader)
        _, listener = await loop.create_connection(lambda request=request: Listener(request), served.host, served.port)
        if not await asyncio.wait_for(listener.begun, _PATIENCE):
            raise RuntimeError("a listener was turned away")
        found.append(listener)
    return found


async def _call(served: Served, due: asyncio.Queue[tuple[float, str] | None], told: Told) -> None:
    """One who calls, over one connection, whatever is due next."""
    reading, writing = await asyncio.open_connection(served.host, served.port)
    while (order := await due.get()) is not None:
        at, trace = order
        body = json.dumps({"tool": "word_count", "arguments": {"text": "a b c"}, "context": {"trace_id": trace}})
        writing.write(served.request("POST /api/v1/calls", served.agent, body.encode()))
        head, answer = await _answer(reading)
        if not head.startswith(b"HTTP/1.1 200") or answer.get("status") != "succeeded":
            told.errors[str(answer.get("status"))] += 1
        told.latencies.append(time.perf_counter() - at)
    writing.close()


async def _calls(served: Served, traces: Sequence[str], told: Told, *, per_second: float, seconds: float) -> int:
    """So many calls a second, evenly; they are due whether or not those before have ended."""
    due: asyncio.Queue[tuple[float, str] | None] = asyncio.Queue()
    callers = [asyncio.ensure_future(_call(served, due, told)) for _ in range(_CALLERS)]
    begun, made = time.perf_counter(), 0
    while made < per_second * seconds:
        now = time.perf_counter()
        while made <= (now - begun) * per_second and made < per_second * seconds:
            due.put_nowait((begun + made / per_second, traces[made % len(traces)]))
            made += 1
        await asyncio.sleep(0.005)
    for _ in callers:
        due.put_nowait(None)
    await asyncio.gather(*callers)
    return made


async def _watch_memory(process: int, told: Told) -> None:
    begun = time.perf_counter()
    while True:
        told.memory.append((time.perf_counter() - begun, _megabytes(process)))
        await asyncio.sleep(1)


def _megabytes(process: int) -> float:
    return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * resource.getpagesize() / 1e6


async def _all_heard(listeners: Sequence[Listener], expected: Sequence[int]) -> None:
    until = time.perf_counter() + _PATIENCE
    while time.perf_counter() < until:
        if all(each.events >= wanted for each, wanted in zip(listeners, expected, strict=True)):
            return
        await asyncio.sleep(0.1)


async def measure(
    *,
    listeners: int = _LISTENERS,
    hear_all: int = _HEAR_ALL,
    per_second: float = _PER_SECOND,
    seconds: float = _SECONDS,
) -> dict[str, Any]:
    """One minute of it."""
    _allow_files(listeners * 2 + 500)
    told, traces = Told(), [f"trace-{number}" for number in range(listeners - hear_all)]
    with tempfile.TemporaryDirectory() as name:
        async with _served(Path(name)) as served:
            queries = [f"?trace={trace}" for trace in traces] + ["?type=tool_call.*"] * hear_all
            await _fill(served)
            hearing = await _listen(served, queries)
            watching = asyncio.ensure_future(_watch_memory(served.process, told))
            made = await _calls(served, traces or ["all"], told, per_second=per_second, seconds=seconds)
            each = Counter(number % len(traces) for number in range(made)) if traces else Counter[int]()
            expected = [each[number] * _EVENTS_OF_A_CALL for number in range(len(traces))]
            expected += [made * _EVENTS_OF_A_CALL] * hear_all
            await _all_heard(hearing, expected)
            watching.cancel()
            return _results(told, hearing, expected, made=made)


def _results(told: Told, hearing: Sequence[Listener], expected: Sequence[int], *, made: int) -> dict[str, Any]:
    for listener in hearing:
        if listener.fault is not None:
            told.errors[listener.fault] += 1
        listener.leaves = True
        listener.transport.abort()
    late = sorted(told.latencies)
    steady = [megabytes for at, megabytes in told.memory if at >= _SETTLED]
    third = max(1, len(steady) // 3)
    return {
        "listeners": len(hearing),
        "calls": made,
        "events_told": sum(each.events for each in hearing),
        "missed": sum(max(0, wanted - each.events) for each, wanted in zip(hearing, expected, strict=True)),
        "errors": sum(told.errors.values()),
        "error_kinds": dict(told.errors),
        "call_p50_ms": round(late[len(late) // 2] * 1000, 1),
        "call_p99_ms": round(late[len(late) * 99 // 100] * 1000, 1),
        "memory_mb_each_10_s": [round(megabytes) for _, megabytes in told.memory[::10]],
        "memory_mb": round(steady[-1], 1),
        "memory_growth_mb": round(statistics.median(steady[-third:]) - statistics.median(steady[:third]), 1),
    }


def _allow_files(wanted: int) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(wanted, hard), hard))


if __name__ == "__main__":
    print(json.dumps(asyncio.run(measure()), indent=2))
