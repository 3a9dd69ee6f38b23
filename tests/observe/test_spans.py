"""Every call as a span, by OpenTelemetry's own words for one."""

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from callgate import Callgate, Context, tool
from callgate.observe.spans import carried, spans


@pytest.fixture
def exported():
    return InMemorySpanExporter()


@pytest.fixture
async def gate(exported: InMemorySpanExporter):
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exported))
    carriers: list[dict[str, str]] = []

    @tool(effects="read_only")
    def shout(text: str) -> str:
        """Make a text loud."""
        carriers.append(carried())
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


def test_without_a_span_nothing_is_carried():
    assert carried() == {}
