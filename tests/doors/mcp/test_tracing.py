"""A trace goes through the gate: from a client's `_meta` to the spans of the gate, and on to the server behind it."""

import asyncio
import os
import re
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from callgate import Callgate
from callgate.adapters.mcp import McpServer
from callgate.observe.spans import spans
from tests.doors.http.conftest import served_gate
from tests.doors.mcp.conftest import client_of, text_of
from tests.doors.mcp.everything_server import everything_server

ERAS = pytest.mark.parametrize("era", ["legacy", "2026-07-28"])
TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
META: Any = {"traceparent": f"00-{TRACE}-{SPAN}-01", "tracestate": "vendor=1"}
_ALL = {"*": {"effects": ["read_only", "network_access"]}}


@ERAS
async def test_a_trace_goes_from_the_client_through_the_gates_span_to_the_server(era: str):
    exported = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exported))
    gate = Callgate.open("memory://", around=[spans(provider.get_tracer("test"))])
    async with everything_server() as (server, url), served_gate(gate) as served:
        await served.gate.attach(McpServer("everything", url=url, declare=_ALL))
        async with client_of(served, path="/mcp/everything", mode=era) as client:
            answer = await client.call_tool("test_simple_text", meta=META)
    assert not answer.is_error
    (span,) = exported.get_finished_spans()
    assert span.context is not None
    assert span.parent is not None
    assert f"{span.context.trace_id:032x}" == TRACE
    assert f"{span.parent.span_id:016x}" == SPAN
    # The server is a child of the gate's own span.
    assert server.metas[-1]["traceparent"] == f"00-{TRACE}-{span.context.span_id:016x}-01"
    assert server.metas[-1]["tracestate"] == "vendor=1"


@ERAS
async def test_a_trace_passes_also_where_nobody_makes_spans_and_what_is_none_is_let_be(era: str):
    async with everything_server() as (server, url), served_gate(Callgate.open("memory://")) as served:
        await served.gate.attach(McpServer("everything", url=url, declare=_ALL))
        async with client_of(served, path="/mcp/everything", mode=era) as client:
            await client.call_tool("test_simple_text", meta=META)
            for odd in ("00-0-0-01", "x" * 5000, f"00-{'0' * 32}-{SPAN}-01", 5):
                wrong: Any = {"traceparent": odd}
                assert not (await client.call_tool("test_simple_text", meta=wrong)).is_error, odd
    assert server.metas[0]["traceparent"] == META["traceparent"]
    assert [meta.get("traceparent") for meta in server.metas[1:]] == [None] * 4


@pytest.mark.slow
async def test_requests_are_exported_as_mcps_conventions_say(tmp_path: Path):
    async with _collector() as (heard, url):
        async with Client(stdio_client(_exporting(tmp_path, url)), mode="legacy", cache=None) as client:
            assert text_of(await client.call_tool("calculate", {"expression": "40+2"}, meta=META)) == "42"
            await client.call_tool("calculate", {"expression": "hunter2("}, meta=META)
        found: list[Any] = []
        while len(found) < 4:
            sent = await asyncio.wait_for(heard.get(), 30)
            found += [each for each in _spans(sent) if each.trace_id.hex() == TRACE]
    assert "hunter2" not in str(found)
    asked, *_ = [each for each in found if each.name == "tools/call calculate"]
    assert [each.name for each in found if each.parent_span_id == asked.span_id] == ["execute_tool calculate"]
    told = {each.key: each.value.string_value for each in asked.attributes}
    assert asked.parent_span_id.hex() == SPAN
    assert asked.kind == 2  # a server's
    assert (told["mcp.method.name"], told["gen_ai.tool.name"]) == ("tools/call", "calculate")
    assert told["mcp.protocol.version"] == "2025-11-25"
    assert told["jsonrpc.request.id"]


def _exporting(folder: Path, url: str) -> StdioServerParameters:
    env = {"PYTHONPATH": os.pathsep.join(str(Path(each).resolve()) for each in sys.path if each)}
    env |= {"HOME": str(folder), "OTEL_EXPORTER_OTLP_ENDPOINT": url, "OTEL_BSP_SCHEDULE_DELAY": "50"}
    args = ["-m", "callgate", "mcp", "--store", "memory://"]
    return StdioServerParameters(command=sys.executable, args=args, cwd=folder, env=env)


def _spans(sent: bytes) -> list[Any]:
    body = ExportTraceServiceRequest.FromString(sent)
    return [span for one in body.resource_spans for scope in one.scope_spans for span in scope.spans]


@asynccontextmanager
async def _collector() -> AsyncGenerator[tuple[asyncio.Queue[bytes], str]]:
    """Takes what is exported."""
    heard: asyncio.Queue[bytes] = asyncio.Queue()

    async def collect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        (length,) = re.findall(r"content-length: (\d+)", head.decode().lower())
        heard.put_nowait(await reader.readexactly(int(length)))
        writer.write(b"HTTP/1.1 200 Fine\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(collect, "127.0.0.1", 0)
    async with server:
        yield heard, f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
