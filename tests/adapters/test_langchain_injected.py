"""Validators of a LangChain model that look at what is injected, which is not here when arguments are judged."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any

import pytest
from langchain_core.tools import InjectedToolArg, InjectedToolCallId, StructuredTool
from pydantic import BaseModel, Field, ValidationInfo, field_validator, model_validator
from pydantic_core import PydanticUseDefault

from callgate import Failed, Outcome
from callgate.adapters.langchain import LangChainTools
from callgate.model.levels import Autonomy, Happened
from callgate.settings.values import Settings
from callgate.testing import memory_gate

Limits = Annotated[dict[str, int], InjectedToolArg]


class Pay(BaseModel):
    limits: Limits
    to: str = "NOBODY"
    amount: int = Field(1, ge=0)
    fee: Decimal = 0  # pyright: ignore[reportAssignmentType] - as authors write it

    @field_validator("to")
    @classmethod
    def tidy(cls, text: str) -> str:
        return text.strip().lower()


class After(Pay):
    @model_validator(mode="after")
    def within(self) -> After:
        if self.amount > self.limits["most"]:
            raise ValueError("too much")
        return self


class Before(Pay):
    @model_validator(mode="before")
    @classmethod
    def within(cls, data: Any) -> Any:
        if data.get("amount", 1) > data["limits"]["most"]:
            raise ValueError("too much")
        return data


class Wrapped(Pay):
    @model_validator(mode="wrap")
    @classmethod
    def within(cls, data: Any, read: Callable[[Any], Any]) -> Any:
        made = read(data)
        if made.amount > made.limits["most"]:
            raise ValueError("too much")
        return made


class Asserted(Pay):
    @model_validator(mode="after")
    def within(self) -> Asserted:
        if not self.limits:
            raise ValueError("nobody said how much")
        if self.amount > self.limits["most"]:
            raise ValueError("too much")
        return self


class ByField(Pay):
    @field_validator("amount")
    @classmethod
    def within(cls, amount: int, info: ValidationInfo) -> int:
        if amount > info.data["limits"]["most"]:
            raise ValueError("too much")
        return amount


MODELS = [After, Before, Wrapped, Asserted, ByField]


async def pay(model: type[BaseModel], arguments: dict[str, Any], **fields: Any) -> tuple[Outcome, list[Any]]:
    seen: list[Any] = []

    def paid(**given: Any) -> str:
        seen.append(given)
        return "paid"

    thing = StructuredTool.from_function(func=paid, name="pay", description="Pay.", args_schema=model, **fields)
    declared: dict[str, Any] = {"effects": "system_state", "risk": "low"}
    source = LangChainTools([thing], name="bank", inject={"limits": lambda _: {"most": 10}}, **declared)
    async with memory_gate(config=Settings(autonomy=Autonomy.A4)) as gate:
        await gate.attach(source)
        return await gate.call("bank.pay", arguments), seen


@pytest.mark.parametrize("model", MODELS)
async def test_a_validator_that_reads_what_is_injected_is_asked_when_it_is_here(model: type[Pay]) -> None:
    outcome, seen = await pay(model, {"amount": 5, "to": " EVE "})
    assert outcome.error is None, outcome.error
    assert seen == [{"amount": 5, "to": "eve", "fee": Decimal(0), "limits": {"most": 10}}]
    outcome, seen = await pay(model, {"amount": 11})
    assert outcome.error is not None
    assert seen == []


@pytest.mark.parametrize("model", MODELS)
async def test_what_is_wrong_with_an_argument_is_told_before(model: type[Pay]) -> None:
    outcome, seen = await pay(model, {"amount": -1})
    assert outcome.error is not None
    assert (outcome.error.code, seen) == ("invalid_arguments", [])
    assert "amount must be at least 0" in outcome.error.message


class Strange(After):
    @field_validator("to")
    @classmethod
    def known(cls, text: str) -> str:
        if text == "bad":
            raise ValueError("nobody knows them")
        return text


async def test_a_validator_of_one_argument_speaks_before_as_well() -> None:
    outcome, seen = await pay(Strange, {"to": "bad"})
    assert outcome.error is not None
    assert (outcome.error.code, seen) == ("invalid_arguments", [])
    assert "nobody knows them" in outcome.error.message


class Noted(BaseModel):
    path: str
    state: Annotated[object, InjectedToolArg]
    note: str = ""

    @field_validator("note")
    @classmethod
    def known(cls, note: str, info: ValidationInfo) -> str:
        if note not in info.data["state"].notes:
            raise ValueError("nobody knows it")
        return note


class InEtc(Noted):
    @field_validator("path")
    @classmethod
    def whole(cls, path: str) -> str:
        return path if path.startswith("/etc/") else f"/etc/{path}"


class InEtcAtLast(Noted):
    @model_validator(mode="after")
    def whole(self) -> InEtcAtLast:
        self.path = InEtc.whole(self.path)
        return self


class InEtcByTheState(Noted):
    @field_validator("note")
    @classmethod
    def known(cls, note: str, info: ValidationInfo) -> str:
        return note

    @model_validator(mode="after")
    def whole(self) -> InEtcByTheState:
        self.path = self.path if self.state is None else InEtc.whole(self.path)
        return self


class State:
    notes = ("a",)


async def read(model: type[Noted], folder: Path) -> tuple[Outcome, list[Any]]:
    seen: list[Any] = []

    def noted(**given: Any) -> None:
        seen.append(given)

    thing = StructuredTool.from_function(func=noted, name="read", description="Read.", args_schema=model)
    fields: dict[str, Any] = {"effects": "read_only", "scopes": ["fs:read"]}
    source = LangChainTools([thing], name="disk", inject={"state": lambda _: State()}, **fields)
    async with memory_gate(working_directory=folder) as gate:
        await gate.attach(source)
        return await gate.call("disk.read", {"path": "hostname", "note": "a"}), seen


async def test_what_is_injected_need_not_be_json(tmp_path: Path) -> None:
    outcome, seen = await read(Noted, tmp_path)
    assert outcome.error is None, outcome.error
    assert seen[0]["path"] == "hostname"


async def test_a_validator_that_can_do_without_what_is_injected_is_heard_before_whatever_another_needs(
    tmp_path: Path,
) -> None:
    outcome, seen = await read(InEtc, tmp_path)
    assert outcome.error is not None
    assert (outcome.error.code, seen) == ("policy_denied", [])
    assert "/etc/hostname" in outcome.error.message


@pytest.mark.parametrize("model", [InEtcAtLast, InEtcByTheState])
async def test_what_was_not_judged_is_not_run(model: type[Noted], tmp_path: Path) -> None:
    outcome, seen = await read(model, tmp_path)
    assert isinstance(outcome, Failed)
    assert outcome.error is not None
    assert (outcome.happened, seen) == (Happened.NONE, [])
    assert "read otherwise with what is injected" in outcome.error.message


async def test_words_that_a_tool_has_for_wrong_arguments_are_told() -> None:
    outcome, seen = await pay(After, {"amount": 11}, handle_validation_error="ask for less")
    assert outcome.error is not None
    assert (outcome.error.message, seen) == ("ask for less", [])


class Taken(Pay):
    """A validator that takes apart what it reads, and one for the id of the call."""

    parts: list[int] = Field(default_factory=list[int])
    call: Annotated[str, InjectedToolCallId]

    @model_validator(mode="before")
    @classmethod
    def summed(cls, data: Any) -> Any:
        while data["limits"] and data.get("parts"):
            data["amount"] += data["parts"].pop()
        return data

    @field_validator("call")
    @classmethod
    def named(cls, call: str) -> str:
        if not call:
            raise ValueError("no call")
        return call


async def test_a_validator_that_changes_what_it_reads_cannot_hide_what_was_judged() -> None:
    outcome, seen = await pay(Taken, {"amount": 1, "parts": [5]})
    assert outcome.error is not None
    assert seen == []
    outcome, seen = await pay(Taken, {"amount": 1})
    assert outcome.error is None, outcome.error
    assert seen[0]["amount"] == 1


class Early(Pay):
    @field_validator("amount", mode="before")
    @classmethod
    def within(cls, amount: Any, info: ValidationInfo) -> Any:
        return min(amount, info.data["limits"]["most"])


class Around(Pay):
    @field_validator("amount", mode="wrap")
    @classmethod
    def within(cls, amount: Any, read: Callable[[Any], int], info: ValidationInfo) -> int:
        return min(read(amount), info.data["limits"]["most"])


class Defaulted(ByField):
    @field_validator("to", mode="before")
    @classmethod
    def none(cls, text: Any) -> Any:
        if text == "":
            raise PydanticUseDefault
        return text


@pytest.mark.parametrize("model", [Early, Around, Defaulted])
async def test_validators_of_every_kind_are_read_without_what_is_injected(model: type[Pay]) -> None:
    outcome, seen = await pay(model, {"amount": 5, "to": "" if model is Defaulted else "NOBODY"})
    assert outcome.error is None, outcome.error
    assert seen[0]["to"].lower() == "nobody"
    outcome, seen = await pay(model, {"amount": -1})
    assert outcome.error is not None
    assert "amount must be at least 0" in outcome.error.message
    outcome, seen = await pay(model, {"amount": 11})
    assert outcome.error is not None
    assert seen == []
