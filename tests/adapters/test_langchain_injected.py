"""Validators of a LangChain model that look at what is injected, which is not here when arguments are judged."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Annotated, Any

import pytest
from langchain_core.tools import InjectedToolArg, StructuredTool
from pydantic import BaseModel, Field, ValidationInfo, field_validator, model_validator

from callgate import Outcome
from callgate.adapters.langchain import LangChainTools
from callgate.model.levels import Autonomy
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


async def pay(model: type[Pay], arguments: dict[str, Any]) -> tuple[Outcome, list[Any]]:
    seen: list[Any] = []

    def paid(**given: Any) -> str:
        seen.append(given)
        return "paid"

    thing = StructuredTool.from_function(func=paid, name="pay", description="Pay.", args_schema=model)
    fields: dict[str, Any] = {"effects": "system_state", "risk": "low"}
    source = LangChainTools([thing], name="bank", inject={"limits": lambda _: {"most": 10}}, **fields)
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
