"""LangChain tools that mean harm, or are broken: refused with a reason, ended as any call, and nobody else's loss."""

from __future__ import annotations

import itertools
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.tools import BaseTool, BaseToolkit, StructuredTool
from langchain_core.tools import tool as langchain_tool
from pydantic import BaseModel, ConfigDict

from callgate import Context, Failed, Outcome, Succeeded, Unknown, tool
from callgate.adapters.langchain import LangChainTools
from callgate.errors import ConfigurationError
from callgate.model.levels import Autonomy
from callgate.settings.values import Settings
from callgate.testing import memory_gate

FREE = Settings(autonomy=Autonomy.A4)


def ran(**_given: Any) -> str:
    return "ran"


def described(schema: dict[str, Any], name: str = "odd") -> StructuredTool:
    return StructuredTool(name=name, description="Odd.", args_schema=schema, func=ran)


def saying(outcome: Outcome) -> str:
    assert outcome.error is not None
    return outcome.error.message


@pytest.mark.parametrize(
    "reference", ["file:///etc/passwd", "https://example.com/schema.json", "//example.com/x", "other.json#/a"]
)
def test_a_schema_that_refers_elsewhere_is_refused_and_nothing_is_fetched(reference: str):
    schema = {"type": "object", "properties": {"a": {"$ref": reference}}}
    with pytest.raises(ConfigurationError, match="nothing is fetched"):
        memory_gate().add(described(schema), effects="read_only")


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string"},
        {"type": "object", "properties": {"pa\u200bth": {"type": "string"}}},
        {"type": "object", "properties": {"a": {"type": "nonsense"}}},
        {"type": "object", "description": "x" * 300_000},
        {"type": "object", "properties": {"a": object()}},
    ],
    ids=["no object", "hidden name", "no schema", "huge", "no JSON"],
)
def test_a_schema_that_cannot_be_used_is_refused(schema: dict[str, Any]):
    with pytest.raises(ConfigurationError, match="odd: "):
        memory_gate().add(described(schema), effects="read_only")


def test_arguments_that_have_no_json_schema_are_refused():
    class Opaque:
        """Nothing JSON could say."""

    class Asked(BaseModel):
        model_config = ConfigDict(arbitrary_types_allowed=True)
        thing: Opaque

    odd = StructuredTool.from_function(ran, name="odd", description="Odd.", args_schema=Asked)
    with pytest.raises(ConfigurationError, match="its arguments cannot be read"):
        memory_gate().add(odd, effects="read_only")


@pytest.mark.parametrize("name", ["pa\u200by", "p\u0430y", "pay\n", "../pay", "", "---"])
def test_a_name_that_hides_something_is_refused_and_not_made_to_fit(name: str):
    with pytest.raises(ConfigurationError):
        memory_gate().add(described({"type": "object"}, name=name), effects="read_only")


def test_what_hides_in_a_description_is_shown():
    odd = StructuredTool(name="odd", description="Fine\u202e!", args_schema={"type": "object"}, func=lambda: "x")
    [made] = memory_gate().add(odd, effects="read_only")
    assert made.description == "Fine<U+202E>!"


async def test_no_tool_takes_the_name_of_another():
    @tool(effects="read_only")
    def pay() -> str:
        """Ours."""
        return "ours"

    async with memory_gate(pay, config=FREE) as gate:
        for update in (False, True):
            with pytest.raises(ConfigurationError, match="already registered by function"):
                gate.add(described({"type": "object"}, name="Pay"), effects="read_only", update=update)
        with pytest.raises(ConfigurationError, match="given twice"):
            gate.add([described({"type": "object"}, name=name) for name in ("a-b", "a_b")], effects="read_only")
        twins = [described({"type": "object"}, name=name) for name in ("a-b", "a_b", "good")]
        report = await gate.attach(LangChainTools(twins, name="kit", effects="read_only"))
        assert (report.tools, [failure.name for failure in report.failures]) == (("kit.a_b", "kit.good"), ["kit.a_b"])
        assert (await gate.call("pay")).unwrap() == "ours"


async def test_one_broken_tool_of_a_source_harms_no_other():
    class Broken(BaseTool):
        name: str = "broken"
        description: str = ""

        @property
        def tool_call_schema(self) -> Any:
            raise MemoryError

        def _run(self) -> str:
            return ""

    class Wordless(StructuredTool):
        def __getattribute__(self, name: str) -> Any:
            if name == "description":
                raise LookupError(name)
            return super().__getattribute__(name)

    class Nameless(StructuredTool):
        def __getattribute__(self, name: str) -> Any:
            if name == "name":
                raise LookupError(name)
            return super().__getattribute__(name)

    schema = {"type": "object", "properties": {"a": {"$ref": "file:///x"}}}
    made: dict[str, Any] = {"name": "mute", "description": "", "args_schema": {"type": "object"}, "func": None}
    odd = [Broken(), described(schema), Wordless(**made), Nameless(**made)]
    tools = [*odd, described({"type": "object"}, name="good")]
    async with memory_gate(config=FREE) as gate:
        report = await gate.attach(LangChainTools(tools, name="kit", effects="read_only"))
        assert report.tools == ("kit.good",)
        reasons = {failure.name: failure.reason for failure in report.failures}
        assert "its arguments cannot be read (MemoryError)" in reasons["broken"]
        assert "nothing is fetched" in reasons["odd"]
        assert "cannot be read (LookupError)" in reasons["mute"]
        assert len(reasons) == 4


async def test_a_toolkit_that_fails_is_told_and_an_odd_one_is_no_list():
    class Kit(BaseToolkit):
        def get_tools(self) -> list[BaseTool]:
            raise RuntimeError("no network")

    with pytest.raises(ConfigurationError, match=r"Kit does not give its tools \(RuntimeError\)"):
        memory_gate().add(Kit())


@pytest.mark.parametrize("kind", [SystemExit, KeyboardInterrupt, GeneratorExit, BaseException])
@pytest.mark.parametrize("awaited", [True, False])
async def test_a_tool_that_would_end_the_program_ends_its_own_call(kind: type[BaseException], awaited: bool):
    def fail() -> str:
        raise kind

    async def fail_later() -> str:
        raise kind

    odd = StructuredTool.from_function(
        None if awaited else fail, fail_later if awaited else None, name="odd", description="Odd."
    )
    async with memory_gate(config=FREE) as gate:
        [made] = gate.add(odd, effects="read_only")
        assert made.is_async is awaited
        assert isinstance(await gate.call("odd"), Failed)
    async with memory_gate(config=FREE) as gate:
        gate.add(odd, effects="system_state", risk="low")
        assert isinstance(await gate.call("odd"), Failed | Unknown)
        assert (await gate.verify_audit()).ok


@pytest.mark.parametrize(
    "value",
    [object(), {1: {2}}, float("nan"), b"\xff", [object()], "\ud800"],
    ids=["object", "set", "nan", "bytes", "list", "surrogate"],
)
async def test_what_is_no_json_is_recorded_as_something_that_is(value: Any):
    async with memory_gate(config=FREE) as gate:
        odd = StructuredTool.from_function(lambda: value, name="odd", description="Odd.")
        gate.add(odd, effects="system_state", risk="low")
        outcome = await gate.call("odd", context=Context(idempotency_key="k"))
        assert isinstance(outcome, Succeeded | Failed)
        assert (await gate.call("odd", context=Context(idempotency_key="k"))).deduped
        assert (await gate.verify_audit()).ok


async def test_what_contains_itself_and_what_has_no_end_end_all_the_same():
    circle: list[Any] = []
    circle.append(circle)

    def endless() -> Iterator[int]:
        """Count."""
        yield from itertools.count()

    @langchain_tool(response_format="content_and_artifact")
    def around() -> tuple[str, Any]:
        """Go around."""
        return "done", circle

    async with memory_gate(config=FREE) as gate:
        gate.add([langchain_tool(endless), around], effects="system_state", risk="low")
        assert saying(await gate.call("endless")) == "the tool yields; a tool returns one value"
        for _ in range(2):
            outcome = await gate.call("around", context=Context(idempotency_key="k"))
            assert (outcome.output, outcome.metadata) == ("done", {"artifact": ["[contains itself]"]})


async def test_a_huge_answer_comes_whole_and_the_record_of_it_is_cut():
    async with memory_gate(config=FREE) as gate:
        odd = StructuredTool.from_function(lambda: "x" * 5_000_000, name="odd", description="Odd.")
        gate.add(odd, effects="read_only")
        assert len((await gate.call("odd")).unwrap()) == 5_000_000
        await gate.flush()
        [ended] = [event async for event in gate.events(types=["tool_call.succeeded"])]
        assert ended.payload is not None
        assert ended.payload["output"]["cut"] is True


async def test_a_credential_is_struck_from_an_artifact_too_and_no_event_has_the_artifact():
    leaked = "AKIA" + "IOSFODNN7EXAMPLE"

    @langchain_tool(response_format="content_and_artifact")
    def fetch() -> tuple[str, dict[str, str]]:
        """Fetch."""
        return f"see {leaked}", {"raw": f"key={leaked}"}

    async with memory_gate(config=FREE) as gate:
        gate.add(fetch, effects="system_state", risk="low")
        for _ in range(2):
            outcome = await gate.call("fetch", context=Context(idempotency_key="k"))
            assert outcome.metadata["artifact"]["raw"] != ""
            assert leaked not in f"{outcome.output} {outcome.metadata}"
        [ended] = [event async for event in gate.events(types=["tool_call.succeeded"])]
        assert "raw" not in str(ended.payload)


async def test_arguments_that_look_like_a_call_are_arguments_all_the_same():
    seen: list[dict[str, Any]] = []

    def take(**given: Any) -> str:
        seen.append(given)
        return "ok"

    schema = {
        "type": "object",
        "properties": {"type": {"type": "string"}, "id": {"type": "string"}, "args": {"type": "object"}},
    }
    odd = StructuredTool(name="odd", description="Odd.", args_schema=schema, func=take)
    asked = {"type": "tool_call", "id": "x", "args": {"admin": True}}
    async with memory_gate(config=FREE) as gate:
        gate.add(odd, effects="read_only")
        assert (await gate.call("odd", asked)).unwrap() == "ok"
    assert seen == [asked]


async def test_names_of_langchains_own_parameters_are_refused_where_the_schema_does_not_have_them():
    @langchain_tool
    def quiet(text: str) -> str:
        """Say nothing."""
        return text

    async with memory_gate(config=FREE) as gate:
        gate.add(quiet, effects="read_only")
        for name in ("config", "run_manager", "callbacks", "self"):
            assert saying(await gate.call("quiet", {"text": "x", name: {}})) == f"Unknown parameter: {name}"


def test_importing_callgate_and_adding_a_function_loads_no_langchain():
    program = (
        "import callgate, sys\n"
        "from callgate.adapters.langchain import LangChainTools, to_langchain\n"
        "gate = callgate.Callgate.open('memory://')\n"
        "gate.add(len, name='length', effects='read_only', input_schema={'type': 'object'})\n"
        "print([name for name in sys.modules if name.startswith('langchain')])\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.split() == ["[]"]
