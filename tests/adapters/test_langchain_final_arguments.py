"""What a LangChain tool's own model makes of the arguments is there before they are judged, shown and approved."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from datetime import date
from typing import Annotated, Any

import pytest
from langchain_core.tools import InjectedToolArg, InjectedToolCallId, StructuredTool
from langchain_core.tools import tool as langchain_tool
from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from callgate import Outcome, Pending, Refused
from callgate.adapters.langchain import LangChainTools
from callgate.model.levels import Autonomy
from callgate.model.tool_context import ToolContext
from callgate.settings.load import parse_settings
from callgate.settings.values import Settings
from callgate.testing import memory_gate

FREE = Settings(autonomy=Autonomy.A4)
Given = dict[str, Any]


class Options(BaseModel):
    amount: int = 1000


class Pay(BaseModel):
    model_config = ConfigDict(populate_by_name=True)

    to: str
    amount: int = Field(default_factory=lambda: 1000)
    options: Options | None = None
    since: date = Field(default=date(2026, 1, 2), alias="from")
    note: str = None  # pyright: ignore[reportAssignmentType] - as many are written

    @field_validator("to")
    @classmethod
    def tidy(cls, text: str) -> str:
        return text.strip().lower()


def paying(seen: list[Given], model: Any = Pay) -> Any:
    def pay(**given: Any) -> str:
        seen.append(given)
        return "paid"

    return StructuredTool.from_function(func=pay, name="pay", description="Pay.", args_schema=model)


@pytest.mark.parametrize(
    ("arguments", "shown", "got"),
    [
        ({"to": "eve"}, "amount: 1000", {"to": "eve", "amount": 1000}),
        ({"to": "eve", "amount": 1, "options": {}}, '{"amount":1000}', {"options": Options(amount=1000)}),
        ({"to": " EVE ", "amount": 1}, 'to: "eve"', {"to": "eve", "amount": 1}),
        ({"to": "eve", "from": "2025-03-04"}, 'from: "2025-03-04"', {"since": date(2025, 3, 4)}),
    ],
    ids=["a default that is made", "a default in a choice", "a tidied text", "a name of the schema"],
)
async def test_what_is_shown_is_what_the_function_gets(arguments: Given, shown: str, got: Given) -> None:
    seen: list[Given] = []
    async with memory_gate() as gate:
        gate.add(paying(seen), effects="system_state", risk="high")
        asked = await gate.call("pay", arguments)
        assert isinstance(asked, Pending)
        assert shown in (await gate.approval(asked.approval_id)).what
        await gate.approve(asked.approval_id, by="op")
        assert (await gate.resume(asked.approval_id)).ok
    assert {name: seen[0][name] for name in got} == got
    assert len(seen) == 1


async def test_a_rule_sees_what_the_function_gets() -> None:
    seen: list[Given] = []
    rules = "autonomy: A4\nglobal: {rules: [{match: pay, when: 'args.amount > 10', verdict: deny}]}"
    async with memory_gate(config=parse_settings(rules, file="callgate.yaml")) as gate:
        gate.add(paying(seen), effects="system_state", risk="low")
        assert isinstance(await gate.call("pay", {"to": "eve"}), Refused)
        assert (await gate.call("pay", {"to": "eve", "amount": 1})).ok
    assert [given["amount"] for given in seen] == [1]


async def test_a_default_that_is_made_is_made_once_and_kept_for_the_key() -> None:
    made, seen = itertools.count(), list[Given]()

    class Numbered(BaseModel):
        number: int = Field(default_factory=made.__next__)

    async with memory_gate() as gate:
        gate.add(paying(seen, Numbered), effects="system_state", risk="high")
        asked = await gate.call("pay", {})
        assert isinstance(asked, Pending)
        await gate.approve(asked.approval_id, by="op")
        assert (await gate.resume(asked.approval_id)).ok
        assert f"number: {seen[0]['number']}" in (await gate.approval(asked.approval_id)).what


def error_of(outcome: Outcome) -> str:
    assert isinstance(outcome, Refused)
    assert outcome.error is not None
    assert outcome.error.code == "invalid_arguments"
    return outcome.error.message


def in_cents(amount: int) -> int:
    return amount * 100


def in_words(amount: int) -> str:
    return f"{amount} EUR"


def unwritable(amount: int) -> object:
    return object()


def counting() -> Callable[[int], int]:
    numbers = itertools.count()
    return lambda amount: amount + next(numbers)


def raising(amount: int) -> int:
    raise RuntimeError(amount)


def refusing(amount: int) -> int:
    raise ValueError("too odd")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (in_cents, "read otherwise each time"),
        (counting(), "read otherwise each time"),
        (raising, "could not be checked (RuntimeError)"),
        (refusing, "amount is not valid: too odd"),
        (in_words, "amount"),
        (unwritable, "cannot be written as JSON"),
    ],
    ids=["in cents", "counting", "raising", "refusing", "another type", "no JSON"],
)
async def test_what_cannot_be_shown_as_it_is_read_is_refused(change: Callable[[int], Any], told: str) -> None:
    seen: list[Given] = []

    class Changing(BaseModel):
        amount: int

        @field_validator("amount")
        @classmethod
        def change(cls, amount: int) -> Any:
            return change(amount)

    async with memory_gate(config=FREE) as gate:
        gate.add(paying(seen, Changing), effects="system_state", risk="low")
        assert told in error_of(await gate.call("pay", {"amount": 5}))
    assert seen == []


async def test_what_is_injected_is_not_among_the_arguments_and_the_others_are_read_by_the_model() -> None:
    seen: list[Given] = []

    class Send(BaseModel):
        to: str
        amount: int = Field(default_factory=lambda: 7)
        account: Annotated[str, InjectedToolArg]
        call: Annotated[str, InjectedToolCallId]

        @field_validator("to", "account")
        @classmethod
        def tidy(cls, text: str) -> str:
            return text.strip().lower()

        @model_validator(mode="after")
        def in_order(self) -> Send:
            return self

    def account(_context: ToolContext) -> str:
        return " ANN "

    source = LangChainTools(
        [paying(seen, Send)], name="bank", inject={"account": account}, effects="system_state", risk="high"
    )
    async with memory_gate() as gate:
        await gate.attach(source)
        asked = await gate.call("bank.pay", {"to": " EVE "})
        assert isinstance(asked, Pending)
        what = (await gate.approval(asked.approval_id)).what
        assert 'to: "eve"' in what
        assert "amount: 7" in what
        assert "account" not in what
        await gate.approve(asked.approval_id, by="op")
        assert (await gate.resume(asked.approval_id)).ok
    assert {name: seen[0][name] for name in ("to", "amount", "account")} == {"to": "eve", "amount": 7, "account": "ann"}


class Tree(BaseModel):
    name: str = "root"
    inside: Tree | None = None


async def test_a_model_that_contains_itself_is_read_as_well() -> None:
    seen: list[Given] = []
    async with memory_gate(config=FREE) as gate:
        [made] = gate.add(paying(seen, Tree), effects="system_state", risk="low")
        assert (await gate.call("pay", {"inside": {}})).ok
        assert made.validator({"inside": {}}) == {"name": "root", "inside": {"name": "root", "inside": None}}
    assert seen == [{"name": "root", "inside": Tree()}]


async def test_a_schema_of_the_operators_own_shows_no_more_than_it_has() -> None:
    seen: list[Given] = []
    schema = {"type": "object", "properties": {"to": {"type": "string"}}, "required": ["to"]}
    async with memory_gate(config=FREE) as gate:
        [made] = gate.add(paying(seen), effects="system_state", risk="low", input_schema=schema)
        assert made.validator({"to": " EVE "}) == {"to": "eve"}
        assert (await gate.call("pay", {"to": " EVE "})).ok
    assert seen[0]["to"] == "eve"


async def test_a_function_that_takes_anything_is_given_nothing_that_nobody_gave() -> None:
    seen: list[tuple[Any, Given]] = []

    @langchain_tool
    def gather(name: str, *args: Any, **kwargs: Any) -> str:
        """Gather things."""
        seen.append((args, kwargs))
        return name

    async with memory_gate(config=FREE) as gate:
        gate.add(gather, effects="system_state", risk="low")
        assert (await gate.call("gather", {"name": "a"})).unwrap() == "a"
    assert seen == [((), {})]
