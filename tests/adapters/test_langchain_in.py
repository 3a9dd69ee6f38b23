"""LangChain tools in a gate: what they say is kept, what they hide stays hidden, and how they end is told."""

from __future__ import annotations

import threading
from typing import Annotated, Any

import pytest
from langchain_core.messages import ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import (
    BaseTool,
    BaseToolkit,
    InjectedToolArg,
    InjectedToolCallId,
    StructuredTool,
    ToolException,
)
from langchain_core.tools import Tool as OneText
from langchain_core.tools import tool as langchain_tool
from pydantic import BaseModel, ConfigDict, Field, field_validator
from pydantic.v1 import BaseModel as FormerModel

from callgate import Context, Failed, Outcome, Refused, Succeeded
from callgate.adapters.langchain import LangChainTools
from callgate.errors import ConfigurationError
from callgate.model.levels import Autonomy, Category, Origin
from callgate.model.source import Failure
from callgate.model.tool_context import ToolContext
from callgate.settings.values import Settings
from callgate.testing import memory_gate

FREE = Settings(autonomy=Autonomy.A4)


@langchain_tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


class Place(BaseModel):
    """Where to look."""

    city: str = Field(description="The city.")
    days: int = Field(default=1, ge=1)


def times_two(n: int) -> int:
    return n * 2


def code_of(outcome: Outcome) -> str:
    assert outcome.error is not None
    return outcome.error.code


@pytest.mark.requirement("ADP-03")
async def test_name_description_and_schema_are_kept_and_the_arguments_arrive():
    async with memory_gate(config=FREE) as gate:
        [made] = gate.add(add, effects="read_only")
        assert (made.name, made.description, made.source) == ("add", "Add two numbers.", Origin.LANGCHAIN)
        schema: Any = add.tool_call_schema
        assert made.input_schema == schema.model_json_schema()
        outcome = await gate.call("add", {"a": 1, "b": 2})
        assert isinstance(outcome, Succeeded)
        assert outcome.value == 3


@pytest.mark.requirement("ADP-03")
async def test_a_list_and_a_toolkit_are_added_in_one_go():
    class Pair(BaseToolkit):
        def get_tools(self) -> list[BaseTool]:
            return [add, twice]

    @langchain_tool
    async def twice(text: str) -> str:
        """Say it twice."""
        return text * 2

    async with memory_gate(config=FREE) as gate:
        assert [made.name for made in gate.add([add, twice], effects="read_only")] == ["add", "twice"]
        assert (await gate.call("twice", {"text": "ab"})).unwrap() == "abab"
    async with memory_gate(config=FREE) as gate:
        assert [made.name for made in gate.add(Pair(), effects="read_only")] == ["add", "twice"]


async def test_undeclared_it_is_in_no_pool_and_refused_with_the_line_to_add():
    async with memory_gate(config=FREE) as gate:
        gate.add(add)
        assert gate.pool().names == ()
        refused = await gate.call("add", {"a": 1, "b": 2})
        assert isinstance(refused, Refused)
        assert 'gate.add(..., effects="read_only")' in refused.to_human()


async def test_whoever_adds_it_cannot_make_it_one_of_our_own():
    async with memory_gate(config=FREE) as gate:
        [made] = gate.add(add, effects="read_only", source="builtin")
        assert made.source is Origin.LANGCHAIN


def test_a_name_in_another_spelling_is_spelt_as_the_gates_are():
    gate = memory_gate()
    named = StructuredTool.from_function(lambda: "x", name="Tavily-Search v2", description="Search.")
    assert [made.name for made in gate.add(named, effects="read_only")] == ["tavily_search_v2"]
    assert [made.name for made in gate.add(named, effects="read_only", name="seek")] == ["seek"]


def test_a_class_of_tools_is_no_tool():
    with pytest.raises(ConfigurationError, match="is a class of LangChain tools; add an instance"):
        memory_gate(StructuredTool)


async def test_a_tool_that_takes_one_text_has_a_schema_that_says_so():
    async with memory_gate(config=FREE) as gate:
        [made] = gate.add(OneText(name="shout", func=str.upper, description="Shout."), effects="read_only")
        assert made.input_schema["properties"] == {"tool_input": {"type": "string"}}
        assert (await gate.call("shout", {"tool_input": "a"})).unwrap() == "A"
        assert code_of(await gate.call("shout", {})) == "invalid_arguments"


async def test_a_json_schema_stands_as_it_is():
    schema = {"type": "object", "properties": {"n": {"type": "integer", "minimum": 1}}, "required": ["n"]}
    double = StructuredTool(name="double", description="Double.", args_schema=schema, func=times_two)
    async with memory_gate(config=FREE) as gate:
        [made] = gate.add(double, effects="read_only")
        assert made.input_schema == schema
        assert (await gate.call("double", {"n": 4})).unwrap() == 8
        assert code_of(await gate.call("double", {"n": 0})) == "invalid_arguments"
        assert code_of(await gate.call("double", {"n": 1, "verbose": True})) == "invalid_arguments"


async def test_a_schema_that_lets_others_in_lets_them_in():
    schema = {"type": "object", "properties": {}, "additionalProperties": {"type": "integer"}}

    def total(**numbers: int) -> int:
        return sum(numbers.values())

    async with memory_gate(config=FREE) as gate:
        gate.add(StructuredTool(name="total", description="Add.", args_schema=schema, func=total), effects="read_only")
        assert (await gate.call("total", {"x": 1, "y": 2})).unwrap() == 3


async def test_models_reach_the_tool_as_models_with_their_defaults():
    seen: list[Any] = []

    def forecast(city: str, days: int, place: Place) -> str:
        seen.append((city, days, place))
        return "sunny"

    class Asked(Place):
        place: Place

    made = StructuredTool.from_function(forecast, description="Forecast.", args_schema=Asked)
    async with memory_gate(config=FREE) as gate:
        gate.add(made, effects="read_only")
        assert (await gate.call("forecast", {"city": "Oslo", "place": {"city": "Bergen"}})).unwrap() == "sunny"
    assert seen == [("Oslo", 1, Place(city="Bergen"))]


async def test_names_that_a_model_of_arguments_gives_its_fields_are_the_names_to_call_it_by():
    class Asked(BaseModel):
        model_config = ConfigDict(extra="forbid")
        since: str = Field(alias="from")

    def mails(since: str) -> str:
        return since

    made = StructuredTool.from_function(mails, description="Read.", args_schema=Asked)
    async with memory_gate(config=FREE) as gate:
        [added] = gate.add(made, effects="read_only")
        assert added.input_schema == Asked.model_json_schema()
        assert (await gate.call("mails", {"from": "monday"})).unwrap() == "monday"


async def test_models_of_the_former_pydantic_are_models_too():
    class Asked(FormerModel):
        n: int
        unit: str = "m"

    def measure(n: int, unit: str) -> str:
        return f"{n} {unit}"

    made = StructuredTool.from_function(measure, description="Measure.", args_schema=Asked)
    async with memory_gate(config=FREE) as gate:
        gate.add(made, effects="read_only")
        assert (await gate.call("measure", {"n": 3})).unwrap() == "3 m"
        assert code_of(await gate.call("measure", {"n": "3"})) == "invalid_arguments"


async def test_hidden_arguments_are_in_no_schema_and_a_model_cannot_set_them():
    seen: list[str] = []

    @langchain_tool
    def purge(folder: str, owner: Annotated[str, InjectedToolArg] = "nobody") -> str:
        """Empty a folder."""
        seen.append(owner)
        return folder

    async with memory_gate(config=FREE) as gate:
        [made] = gate.add(purge, effects="modifies_files", risk="low")
        assert list(made.input_schema["properties"]) == ["folder"]
        refused = await gate.call("purge", {"folder": "a", "owner": "root"})
        assert (code_of(refused), seen) == ("invalid_arguments", [])
        assert (await gate.call("purge", {"folder": "a"})).ok
    assert seen == ["nobody"]


async def test_what_a_tool_needs_and_nobody_gives_makes_it_unavailable():
    @langchain_tool
    def inbox(limit: int, account: Annotated[str, InjectedToolArg]) -> str:
        """Read mail."""
        return f"{limit} of {account}"

    async with memory_gate(config=FREE) as gate:
        gate.add(inbox, effects="read_only")
        refused = await gate.call("inbox", {"limit": 3})
        assert code_of(refused) == "tool_unavailable"
        assert "it needs account" in refused.to_human()

        def whose(context: ToolContext) -> str:
            return context.context.user or "nobody"

        source = LangChainTools([inbox], name="mail", inject={"account": whose}, effects="read_only")
        assert (await gate.attach(source)).tools == ("mail.inbox",)
        outcome = await gate.call("mail.inbox", {"limit": 3}, Context(user="ann"))
        assert outcome.unwrap() == "3 of ann"


async def test_the_id_of_the_call_is_given_to_a_tool_that_asks_for_it():
    @langchain_tool
    def note(text: str, call: Annotated[str, InjectedToolCallId]) -> ToolMessage:
        """Take a note."""
        return ToolMessage(f"{text} by {call}", tool_call_id=call)

    async with memory_gate(config=FREE) as gate:
        gate.add(note, effects="modifies_files", risk="low")
        assert (await gate.call("note", {"text": "x"}, Context(idempotency_key="k1"))).unwrap() == "x by k1"


async def test_an_artifact_is_kept_beside_what_a_model_reads_also_in_the_ledger():
    @langchain_tool(response_format="content_and_artifact")
    def find(query: str) -> tuple[str, list[Place]]:
        """Find places."""
        return f"2 places for {query}", [Place(city="Oslo"), Place(city="Bergen", days=2)]

    expected = [{"city": "Oslo", "days": 1}, {"city": "Bergen", "days": 2}]
    async with memory_gate(config=FREE) as gate:
        gate.add(find, effects="network_access", risk="low")
        for deduped in (False, True):
            outcome = await gate.call("find", {"query": "fjords"}, Context(idempotency_key="k"))
            assert outcome.output == "2 places for fjords"
            assert (outcome.deduped, outcome.metadata["artifact"]) == (deduped, expected)


async def test_a_tool_without_a_coroutine_runs_on_a_thread_and_one_with_it_on_the_loop():
    threads: list[str] = []

    class Both(BaseTool):
        name: str = "both"
        description: str = "Either way."

        def _run(self) -> str:
            raise AssertionError

        async def _arun(self) -> str:
            threads.append(threading.current_thread().name)
            return "async"

    @langchain_tool
    def slow() -> str:
        """Block."""
        threads.append(threading.current_thread().name)
        return "sync"

    async with memory_gate(config=FREE) as gate:
        gate.add([Both(), slow], effects="read_only")
        assert (await gate.call("both")).unwrap() == "async"
        assert (await gate.call("slow")).unwrap() == "sync"
    assert threads == [threading.current_thread().name, "callgate-slow"]


async def test_an_error_for_the_model_is_told_and_one_that_nobody_meant_for_it_is_masked():
    @langchain_tool
    def meant() -> str:
        """Fail with words."""
        raise ToolException("the index is being rebuilt")

    @langchain_tool
    def internal() -> str:
        """Fail without."""
        raise RuntimeError("password=hunter2")

    @langchain_tool
    async def unreachable() -> str:
        """Fail on the way."""
        raise ConnectionError("no route")

    async with memory_gate(config=FREE) as gate:
        gate.add([meant, internal, unreachable], effects="read_only")
        told = await gate.call("meant")
        assert isinstance(told, Failed)
        assert told.error is not None
        assert (told.error.message, told.error.category) == ("the index is being rebuilt", Category.RUNTIME)
        assert isinstance(told.cause, Exception)
        assert isinstance(told.cause.__cause__, ToolException)
        masked = await gate.call("internal")
        assert "hunter2" not in masked.to_human()
        away = await gate.call("unreachable")
        assert away.error is not None
        assert (away.error.category, away.error.retryable) == (Category.NETWORK, True)


async def test_an_error_that_the_tool_handles_itself_is_still_a_failure():
    def fail() -> int:
        raise ToolException("no seats left")

    def count() -> int:
        return 3

    book = StructuredTool.from_function(fail, name="book", description="Book.", handle_tool_error=True)
    seats = StructuredTool.from_function(count, name="seats", description="Count.", handle_tool_error=True)
    async with memory_gate(config=FREE) as gate:
        gate.add([book, seats], effects="read_only")
        failed = await gate.call("book")
        assert isinstance(failed, Failed)
        assert failed.error is not None
        assert failed.error.message == "no seats left"
        assert (await gate.call("seats")).unwrap() == "3"


async def test_what_a_model_of_arguments_refuses_by_itself_is_told_by_parameter():
    class Even(BaseModel):
        n: int

        @field_validator("n")
        @classmethod
        def even(cls, n: int) -> int:
            if n % 2:
                raise ValueError("odd")
            return n

    halve = StructuredTool.from_function(times_two, name="halve", description="Halve.", args_schema=Even)
    async with memory_gate(config=FREE) as gate:
        gate.add(halve, effects="read_only")
        failed = await gate.call("halve", {"n": 3})
        assert failed.error is not None
        assert (failed.error.category, failed.error.message) == (
            Category.USER_INPUT,
            "Invalid parameter: n is not valid: odd",
        )


async def test_nothing_of_the_run_around_it_reaches_the_tool():
    seen: list[RunnableConfig] = []

    @langchain_tool
    async def inner(config: RunnableConfig) -> str:
        """Look around."""
        seen.append(config)
        return "ok"

    @langchain_tool
    async def outer() -> str:
        """Call through the gate."""
        return str((await gate.call("inner")).unwrap())

    async with memory_gate(config=FREE) as gate:
        gate.add(inner, effects="read_only")
        around: RunnableConfig = {"tags": ["secret"], "metadata": {"token": "t"}, "configurable": {"api_key": "k"}}
        assert await outer.ainvoke({}, config=around) == "ok"
    [config] = seen
    assert (config.get("tags"), config.get("metadata"), config.get("configurable")) == ([], {}, {})


async def test_the_tools_of_a_source_come_under_its_name_each_with_its_own_declaration():
    @langchain_tool
    def wipe(path: str) -> str:
        """Wipe."""
        return path

    source = LangChainTools(
        [add, wipe], name="kit", effects="read_only", tool_declarations={"wipe": {"effects": "modifies_files"}}
    )
    async with memory_gate(config=FREE) as gate:
        report = await gate.attach(source)
        assert (report.ok, report.origin, report.tools) == (True, Origin.LANGCHAIN, ("kit.add", "kit.wipe"))
        by_name = {each.name: each for each in gate.tools()}
        assert by_name["kit.add"].read_only
        assert (by_name["kit.wipe"].read_only, by_name["kit.wipe"].destructive) == (False, True)
        assert (by_name["kit.add"].connector, by_name["kit.add"].source_name) == ("kit", "kit")
        assert (await gate.call("kit.add", {"a": 1, "b": 2})).unwrap() == 3


async def test_a_source_asks_for_its_tools_again_when_it_is_loaded_again():
    @langchain_tool
    def later() -> str:
        """Come later."""
        return "here"

    listed: list[Any] = [add]

    async def give() -> list[Any]:
        return listed

    async with memory_gate(config=FREE) as gate:
        await gate.attach(LangChainTools(give, name="one", effects="read_only"))
        await gate.attach(LangChainTools(lambda: listed, name="two", effects="read_only"))
        listed[:] = [later]
        assert (await gate.reload("one")).tools == ("one.later",)
        assert (await gate.reload("two")).tools == ("two.later",)


async def test_a_source_tells_what_is_declared_and_not_there_and_refuses_what_is_no_tool():
    async with memory_gate(config=FREE) as gate:
        source = LangChainTools(add, name="kit", effects="read_only", tool_declarations={"ad": {"risk": "low"}})
        report = await gate.attach(source)
        assert report.tools == ("kit.add",)
        assert report.failures == (Failure("ad", "it is declared, and there is no such tool"),)
        with pytest.raises(ConfigurationError, match="other: int is no LangChain tool and no toolkit"):
            await gate.attach(LangChainTools([3], name="other"))
    with pytest.raises(ConfigurationError, match="cannot stand before a dot"):
        LangChainTools([add], name="Two Words")
    with pytest.raises(ConfigurationError, match="one id cannot stand for all"):
        LangChainTools([add], id="x")


async def test_a_tool_that_changed_waits_until_somebody_looks():
    def first(n: int) -> int:
        """Count."""
        return n

    def second(n: int) -> int:
        """Count."""
        return n + 1

    listed = [StructuredTool.from_function(first, name="count")]
    async with memory_gate(config=FREE) as gate:
        await gate.attach(LangChainTools(lambda: listed, name="kit", effects="read_only"))
        listed[:] = [StructuredTool.from_function(second, name="count")]
        report = await gate.reload("kit")
        assert [name for name, _ in report.quarantined] == ["kit.count"]
        assert code_of(await gate.call("kit.count", {"n": 1})) == "tool_quarantined"
