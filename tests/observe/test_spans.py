"""Every call as a span, by OpenTelemetry's own words for one."""

import asyncio
import os
import re
import sys
from pathlib import Path

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from callgate import Callgate, Context, ToolContext, tool
from callgate.observe.spans import spans


@pytest.fixture
def exported():
    return InMemorySpanExporter()


@pytest.fixture
async def gate(exported: InMemorySpanExporter):
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exported))

    @tool(effects="read_only")
    def shout(text: str) -> str:
        """Make a text loud."""
        return text.upper()

    async with Callgate.open("memory://", around=[spans(provider.get_tracer("test"))]) as opened:
        opened.add(shout)
        yield opened


async def test_a_call_is_a_span_that_says_which_tool_and_how_it_ended(gate: Callgate, exported: InMemorySpanExporter):
    outcome = await gate.call("shout", {"text": "hunter2"}, Context(principal="crawler", session="s1"))
    (span,) = exported.get_finished_spans()
    assert span.name == "execute_tool shout"
    told = dict(span.attributes or {})
    assert told["gen_ai.operation.name"] == "execute_tool"
    assert (told["gen_ai.tool.name"], told["gen_ai.tool.call.id"]) == ("shout", outcome.call_id)
    assert (told["gen_ai.agent.name"], told["gen_ai.conversation.id"]) == ("crawler", "s1")
    assert told["callgate.status"] == "succeeded"
    assert "hunter2" not in span.to_json().lower()


async def test_a_refusal_is_an_error_with_its_code_and_without_its_words(
    gate: Callgate, exported: InMemorySpanExporter
):
    await gate.call("shout", {"text": 5})
    (span,) = exported.get_finished_spans()
    assert span.status.status_code is StatusCode.ERROR
    assert dict(span.attributes or {})["error.type"] == "invalid_arguments"


@pytest.mark.requirement("EVT-06")
@pytest.mark.parametrize("on_a_thread", [False, True], ids=["a coroutine", "a plain function"])
async def test_a_call_inside_a_call_is_a_child_span_of_the_same_trace(
    gate: Callgate, exported: InMemorySpanExporter, on_a_thread: bool
):
    @tool(effects="read_only", name="outer")
    async def awaits(ctx: ToolContext) -> str:
        """Call a tool, and wait for it."""
        return (await gate.call("shout", {"text": "a"}, ctx.context)).unwrap()

    @tool(effects="read_only", name="outer")
    def blocks(ctx: ToolContext) -> str:
        """Call a tool from a thread, and wait for it."""
        return anywhere.call_blocking("shout", {"text": "a"}, context=ctx.context).unwrap()

    anywhere, context = gate.anywhere(), Context(trace_id="one-story")
    gate.add(blocks if on_a_thread else awaits)
    (await gate.call("outer", {}, context)).unwrap()
    inner, outer = exported.get_finished_spans()
    assert (inner.name, outer.name) == ("execute_tool shout", "execute_tool outer")
    own, whole = inner.get_span_context(), outer.get_span_context()
    assert own is not None
    assert whole is not None
    assert (inner.parent, outer.parent) == (whole, None)
    assert own.trace_id == whole.trace_id
    told = [dict(span.attributes or {})["callgate.trace_id"] for span in (inner, outer)]
    assert told == ["one-story", "one-story"]
    ends = [event async for event in gate.events(types=["tool_call.succeeded"])]
    assert {(each.payload or {})["tool"]: each.trace for each in ends} == {"shout": "one-story", "outer": "one-story"}


async def test_spans_go_where_the_environment_says(tmp_path: Path):
    heard: asyncio.Queue[bytes] = asyncio.Queue()

    async def collect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        (length,) = re.findall(r"content-length: (\d+)", head.decode().lower())
        heard.put_nowait(head + await reader.readexactly(int(length)))
        writer.write(b"HTTP/1.1 200 Fine\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(collect, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    program = tmp_path / "program.py"
    program.write_text(_PROGRAM)
    async with server:
        process = await asyncio.create_subprocess_exec(
            sys.executable, program, env=os.environ | {"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{port}"}
        )
        assert await process.wait() == 0
        sent = await asyncio.wait_for(heard.get(), 30)
    assert sent.startswith(b"POST /v1/traces")


_PROGRAM = """
import asyncio
from callgate import Callgate
from callgate.runtime.observing import spans_around

async def main():
    async with Callgate.open("memory://", around=spans_around(), builtin_tools="calculate") as gate:
        (await gate.call("calculate", {"expression": "1+1"})).unwrap()

asyncio.run(main())
"""
