"""Functions as tools."""

import asyncio
import functools
import inspect
from collections.abc import AsyncIterator, Iterator
from typing import Any
from uuid import UUID

import pytest

from callgate.adapters.convert import convert
from callgate.adapters.function import tool
from callgate.errors import ConfigurationError, NoEffect
from callgate.model.context import Context
from callgate.model.levels import Effect, Origin, Risk
from callgate.model.tool import Tool
from callgate.model.tool_context import ToolContext


@tool(effects="read_only")
def word_count(text: str) -> int:
    """Count the words in a text."""
    return len(text.split())


@tool
def undeclared(text: str) -> str:
    """Do something."""
    return text


def one(thing: Any, **fields: Any) -> Tool:
    (made,) = convert(thing, **fields)
    return made


def context() -> ToolContext:
    return ToolContext(context=Context(), tool="t", call_id="c")


async def run(made: Tool, arguments: dict[str, Any]) -> Any:
    """As the pipeline does it: final arguments, a context, and an await exactly where the tool says so."""
    assert made.handler is not None
    final = made.validator(arguments)
    if made.is_async:
        return await made.handler(final, context())
    output = await asyncio.to_thread(made.handler, final, context())
    return await output if inspect.isawaitable(output) else output


@pytest.mark.requirement("ADP-01")
def test_a_function_gives_its_name_docstring_source_and_tag_and_extra_fields_pass_through():
    made = one(word_count)
    assert (made.name, made.description) == ("word_count", "Count the words in a text.")
    assert made.source is Origin.FUNCTION
    assert "source:function" in made.tags
    given = one(word_count, name="count", description="Other words.", tags=["x"], timeout=3, idempotent=True)
    assert (given.name, given.description, given.timeout, given.idempotent) == ("count", "Other words.", 3.0, True)
    assert given.tags == ("source:function", "x")
    assert given.effects == {Effect.READ_ONLY}


def test_a_decorated_function_stays_a_function():
    assert word_count("a b") == 2
    assert inspect.isfunction(word_count)
    assert word_count.__callgate__.base_risk is Risk.LOW  # pyright: ignore[reportFunctionMemberAccess]


def test_the_decorator_works_bare_with_and_without_fields():
    @tool()
    def f() -> None: ...

    assert one(f).declared is False
    assert one(undeclared).declared is False
    assert one(undeclared).base_risk is Risk.HIGH
    assert one(word_count).declared is True


def test_a_plain_function_can_be_declared_where_it_is_added():
    def look(text: str) -> str:
        return text

    assert one(look).declared is False
    assert one(look, effects="read_only").declared is True


@pytest.mark.requirement("REG-07")
def test_tools_get_distinct_ids_that_sort_by_creation():
    ids = [one(word_count).id for _ in range(50)]
    assert len(set(ids)) == 50
    assert ids == sorted(ids)
    assert {UUID(each).version for each in ids} == {7}
    assert one(word_count, id="given").id == "given"


class Mailer:
    """Sends mail."""

    def __init__(self, sender: str) -> None:
        self.sender = sender

    @tool(effects="network_access", risk="medium")
    def send(self, to: str) -> str:
        """Send it."""
        return f"{self.sender}>{to}"

    async def send_later(self, to: str) -> str:
        return f"{self.sender}>>{to}"

    @staticmethod
    @tool(effects="read_only")
    def check(to: str) -> bool:
        return "@" in to

    @tool(effects="read_only")
    @staticmethod
    def check_too(to: str) -> bool:
        return "@" in to

    @classmethod
    def make(cls, sender: str) -> str:
        return cls(sender).sender


class Adder:
    """Adds numbers."""

    def __call__(self, a: int, b: int) -> int:
        return a + b


class AsyncAdder:
    async def __call__(self, a: int, b: int) -> int:
        """Adds later."""
        return a + b


async def add_later(a: int, b: int) -> int:
    return a + b


def add(a: int, b: int) -> int:
    return a + b


@pytest.mark.requirement("ADP-07")
@pytest.mark.parametrize(
    ("thing", "name", "is_async", "arguments", "expected"),
    [
        (add, "add", False, {"a": 1, "b": 2}, 3),
        (add_later, "add_later", True, {"a": 1, "b": 2}, 3),
        (functools.partial(add, b=2), "add", False, {"a": 1}, 3),
        (functools.partial(add, 1), "add", False, {"b": 2}, 3),
        (functools.partial(add_later, b=2), "add_later", True, {"a": 1}, 3),
        (functools.partial(functools.partial(add_later, b=2), a=1), "add_later", True, {}, 3),
        (Adder(), "adder", False, {"a": 1, "b": 2}, 3),
        (AsyncAdder(), "async_adder", True, {"a": 1, "b": 2}, 3),
        (functools.partial(AsyncAdder(), b=2), "async_adder", True, {"a": 1}, 3),
        (Mailer("me").send, "send", False, {"to": "you"}, "me>you"),
        (Mailer("me").send_later, "send_later", True, {"to": "you"}, "me>>you"),
        (Mailer.check, "check", False, {"to": "a@b"}, True),
        (Mailer("me").check_too, "check_too", False, {"to": "a"}, False),
        (Mailer.make, "make", False, {"sender": "x"}, "x"),
    ],
)
async def test_every_kind_of_callable_runs_and_async_ones_are_awaited(
    thing: Any, name: str, is_async: bool, arguments: dict[str, Any], expected: Any
):
    made = one(thing, name=name) if isinstance(thing, functools.partial) else one(thing)
    assert (made.name, made.is_async) == (name, is_async)
    assert inspect.iscoroutinefunction(made.handler) is is_async
    assert await run(made, arguments) == expected


@pytest.mark.requirement("ADP-07")
async def test_a_lambda_needs_a_name_and_one_around_an_async_function_is_awaited():
    with pytest.raises(ConfigurationError, match="a lambda has no name"):
        convert(lambda x: x)  # pyright: ignore[reportUnknownLambdaType]
    later = lambda: add_later(1, 2)  # noqa: E731 - a lambda is what is tested
    assert await run(one(later, name="later"), {}) == 3


def test_words_and_declarations_are_found_where_they_were_written():
    assert one(Mailer("x").send).description == "Send it."
    assert one(Mailer("x").send).base_risk is Risk.MEDIUM
    assert one(Mailer.check).declared is True
    assert one(Mailer("x").check_too).declared is True
    assert one(Adder()).description == "Adds numbers."
    assert one(AsyncAdder()).description == "Adds later."
    assert one(functools.partial(word_count, text="x")).declared is True
    assert one(functools.partial(add, b=1)).description == ""


def test_what_a_partial_has_settled_is_no_business_of_the_model():
    made = one(functools.partial(add, b=2), name="add_two")
    assert list(made.input_schema["properties"]) == ["a"]
    assert "2" not in str(made.input_schema)


async def test_the_tool_context_is_handed_over():
    async def f(text: str, ctx: ToolContext, *, more: int = 1) -> Any:
        return [text, ctx.tool, more]

    def g(ctx: ToolContext, text: str, /, more: int = 1) -> Any:
        return [text, ctx.tool, more]

    assert await run(one(f), {"text": "x"}) == ["x", "t", 1]
    assert await run(one(g), {"text": "x", "more": 2}) == ["x", "t", 2]


async def test_positional_only_parameters_with_defaults_are_handed_over_in_order():
    def f(a: int, b: int = 2, /, c: int = 3) -> list[int]:
        return [a, b, c]

    assert await run(one(f), {"a": 1}) == [1, 2, 3]
    assert await run(one(f), {"a": 1, "b": 5, "c": 6}) == [1, 5, 6]


async def test_the_final_arguments_are_not_changed_by_a_call():
    def f(a: int, ctx: ToolContext, /) -> int:
        return a

    made = one(f)
    final = made.validator({"a": 1})
    assert made.handler is not None
    made.handler(final, context())
    assert final == {"a": 1}


async def test_what_a_handler_raises_comes_out_as_it_is():
    def f() -> None:
        raise NoEffect("nothing sent")

    async def g() -> None:
        raise NoEffect("nothing sent")

    for each in (f, g):
        with pytest.raises(NoEffect):
            await run(one(each), {})


def test_hints_written_as_text_are_read_where_the_function_stands():
    class Local:
        pass

    del Local
    from enum import Enum  # noqa: PLC0415

    class Choice(Enum):
        A = "a"

    @tool
    def f(x: "Choice", ctx: "ToolContext") -> "list[int]": ...  # pyright: ignore[reportReturnType]

    assert one(f).input_schema["properties"]["x"]["enum"] == ["a"]
    assert one(f).output_schema == {"type": "array", "items": {"type": "integer"}}


def test_a_name_that_comes_later_in_the_file_is_read_when_the_tool_is_made():
    assert one(uses_later).input_schema["properties"]["x"]["type"] == "integer"


@tool
def uses_later(x: "Later") -> None: ...


Later = int


def test_a_tool_context_that_is_only_imported_for_readers_is_known_all_the_same():
    place: dict[str, Any] = {"__name__": "elsewhere"}
    exec("def f(text: 'str', ctx: 'ToolContext'): return text\ndef g(ctx: 'ToolContext | None' = None): ...", place)
    assert list(one(place["f"]).input_schema["properties"]) == ["text"]
    assert one(place["g"]).input_schema["properties"] == {}


def test_a_hint_that_is_never_defined_is_refused():
    def f(x: Any) -> None: ...

    f.__annotations__["x"] = "NoSuchName"
    with pytest.raises(ConfigurationError, match="NoSuchName"):
        convert(tool(f))


def generates() -> Iterator[int]:
    yield 1


async def generates_later() -> AsyncIterator[int]:
    yield 1


@pytest.mark.parametrize(
    ("thing", "words"),
    [
        (generates, "yields"),
        (generates_later, "yields"),
        (vars(Mailer)["check"], "not bound yet"),
        (Mailer, "is a class"),
        (max, "cannot be read"),
    ],
)
def test_what_cannot_be_a_tool_says_why(thing: Any, words: str):
    with pytest.raises(ConfigurationError, match=words):
        convert(thing, name="it")


@pytest.mark.parametrize("thing", ["name", 3, Mailer])
def test_the_decorator_stands_over_functions(thing: Any):
    with pytest.raises(ConfigurationError, match="stands over a function"):
        tool(thing)


def test_what_cannot_be_marked_is_declared_where_it_is_added():
    with pytest.raises(ConfigurationError, match="where it is added"):
        tool(len)


def test_a_wrong_field_fails_where_the_function_is_written():
    with pytest.raises(ConfigurationError, match="did you mean 'effects'"):
        tool(effect="read_only")  # pyright: ignore[reportCallIssue]


def test_a_name_that_is_no_tool_name_is_refused_with_advice():
    def sendMail() -> None: ...  # noqa: N802

    with pytest.raises(ConfigurationError, match="name='send_mail'"):
        convert(sendMail)


class TestMark:
    """Only a certain mark, or a stated one, moves the point of no return."""

    def test_a_certain_mark_is_found(self):
        def f(to: str, ctx: ToolContext) -> None:
            with ctx.effect_sync():
                pass

        assert one(f).marks_effect is True
        assert one(f, marks_effect=False).marks_effect is False

    def test_without_a_certain_mark_there_is_none(self):
        def f(to: str, ctx: ToolContext) -> None:
            if to:
                with ctx.effect_sync():
                    pass

        assert one(f).marks_effect is False
        assert one(f, marks_effect=True).marks_effect is True
        assert one(word_count).marks_effect is False

    def test_a_mark_needs_a_context_to_be_made_with(self):
        with pytest.raises(ConfigurationError, match="takes no ToolContext"):
            convert(word_count, marks_effect=True)


def test_an_input_schema_can_be_given():
    def f(**arguments: Any) -> Any:
        return arguments

    made = one(f, input_schema={"type": "object", "properties": {"class": {"type": "integer", "default": 3}}})
    assert made.input_schema["properties"]["class"] == {"type": "integer", "default": 3}
    assert made.handler is not None
    assert made.handler(made.validator({}), None) == {"class": 3}


def test_examples_are_held_against_the_tool():
    assert one(word_count, examples=[{"text": "a b"}]).examples == ({"text": "a b"},)
    with pytest.raises(
        ConfigurationError, match="example 2 is refused by its own tool: Missing required parameter: text"
    ):
        convert(word_count, examples=[{"text": "a"}, {}])


def test_only_functions_of_plain_types_can_run_in_a_process():
    def f(when: UUID) -> None: ...

    assert one(add, isolation="process").isolation == "process"
    with pytest.raises(ConfigurationError, match="cannot run in a process"):
        convert(f, isolation="process")
    with pytest.raises(ConfigurationError, match="cannot run in a process"):
        convert({"name": "x", "input_schema": {}, "execute": lambda a, b: None, "isolation": "process"})  # pyright: ignore[reportUnknownLambdaType]


def test_the_definition_hash_follows_declaration_code_and_check():
    def check(arguments: Any, context: Any) -> None: ...
    def other_check(arguments: Any, context: Any) -> bool:
        return bool(arguments)

    hashes = [
        one(word_count).definition_hash,
        one(word_count, timeout=3).definition_hash,
        one(word_count, check=check).definition_hash,
        one(word_count, check=other_check).definition_hash,
        one(functools.partial(word_count)).definition_hash,
    ]
    assert len(set(hashes)) == len(hashes)
    assert one(word_count).definition_hash == one(word_count).definition_hash


def test_the_connector_is_the_first_half_of_the_name_or_the_name():
    assert one(word_count).connector == "word_count"
    assert one(word_count, name="text.words").connector == "text"
    assert one(word_count, connector="nlp").connector == "nlp"


def test_a_faulty_declaration_says_where_it_stands() -> None:
    with pytest.raises(ConfigurationError, match=r"^test_function\.py:\d+: effects: unknown word 'readonly'"):

        @tool(effects="readonly")
        def count(text: str) -> int:
            """Count."""
            return len(text)
