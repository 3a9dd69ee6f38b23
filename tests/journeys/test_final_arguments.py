"""A yes is to the arguments that run: defaults inside of models, tidied texts and second names are in them."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import AliasChoices, BaseModel, ConfigDict, Field, IPvAnyAddress, StringConstraints

from callgate import Pending, tool
from callgate.settings.load import parse_settings
from tests.journeys.gates import gate_of

HOSTS = 'version: 1\nautonomy: A4\nscopes:\n  net: {hosts: ["good.example"]}\n'
PRICES = [5]


def rule(match: str, when: str) -> Any:
    text = f'version: 1\nautonomy: A4\nglobal:\n  rules:\n    - {{match: "{match}", when: "{when}", verdict: deny}}\n'
    return parse_settings(text, file="callgate.yaml")


class Payment(BaseModel):
    to: str
    amount: int = 1000


class Order(BaseModel):
    to: str
    amount: int = Field(default_factory=lambda: PRICES[-1])


class Tidy(BaseModel):
    model_config = ConfigDict(str_strip_whitespace=True, str_to_lower=True)
    name: str


class ByName(BaseModel):
    model_config = ConfigDict(populate_by_name=True)
    where: str = Field(alias="url")
    amount: int = Field(alias="sum", default=1)


class ByChoice(BaseModel):
    where: str = Field(validation_alias=AliasChoices("url", "where"))
    amount: int = Field(validation_alias=AliasChoices("sum", "amount"), default=1)


def taking(hint: Any, seen: Path, **fields: Any) -> Any:
    def act(x: Any) -> str:
        """Act."""
        seen.write_text(repr(x))
        return "ok"

    act.__annotations__["x"] = hint
    return tool(**fields)(act)


async def test_a_default_inside_of_a_model_is_shown_to_who_approves(tmp_path: Path):
    async with gate_of(taking(Payment, tmp_path / "seen", effects="system_state", risk="high")) as gate:
        asked = await gate.call("act", {"x": {"to": "eve"}})
        assert isinstance(asked, Pending)
        assert "1000" in (await gate.approval(asked.approval_id)).what


async def test_a_rule_sees_a_default_inside_of_a_model(tmp_path: Path):
    seen = tmp_path / "seen"
    act = taking(Payment, seen, effects="system_state", risk="low")
    async with gate_of(act, config=rule("act", "has(args.x.amount) && args.x.amount > 100")) as gate:
        assert not (await gate.call("act", {"x": {"to": "eve"}})).ok
        assert not seen.exists()
        assert (await gate.call("act", {"x": {"to": "eve", "amount": 1}})).ok


@pytest.mark.parametrize(
    ("hint", "arguments"),
    [(Order, {"x": {"to": "eve"}}), (Annotated[int, Field(default_factory=lambda: PRICES[-1])], {})],
    ids=["inside", "top"],
)
async def test_a_factory_is_asked_before_the_person_and_not_after(tmp_path: Path, hint: Any, arguments: Any):
    seen = tmp_path / "seen"
    PRICES[:] = [5]
    async with gate_of(taking(hint, seen, effects="system_state", risk="high")) as gate:
        asked = await gate.call("act", arguments)
        assert isinstance(asked, Pending)
        assert "5" in (await gate.approval(asked.approval_id)).what
        await gate.approve(asked.approval_id, by="ann")
        PRICES.append(9000)
        assert (await gate.resume(asked.approval_id)).ok
    assert "9000" not in seen.read_text()
    assert "5" in seen.read_text()


@pytest.mark.parametrize(
    ("hint", "way"),
    [(Annotated[str, StringConstraints(strip_whitespace=True, to_lower=True)], "{}"), (Tidy, '{"name": {}}')],
    ids=["text", "model"],
)
async def test_a_rule_sees_a_text_as_it_runs(tmp_path: Path, hint: Any, way: str):
    seen = tmp_path / "seen"
    when = "args.x == 'eve'" if way == "{}" else "args.x.name == 'eve'"
    async with gate_of(taking(hint, seen, effects="system_state", risk="low"), config=rule("act", when)) as gate:
        for name in ("eve", " EVE "):
            assert not (await gate.call("act", {"x": name if way == "{}" else {"name": name}})).ok
    assert not seen.exists()


@pytest.mark.parametrize("hint", [ByName, ByChoice])
async def test_a_second_name_is_judged_as_the_first(tmp_path: Path, hint: Any):
    seen = tmp_path / "seen"
    fetch = taking(hint, seen, effects=["read_only", "network_access"], scopes={"net:outbound"})
    async with gate_of(fetch, config=parse_settings(HOSTS, file="callgate.yaml")) as gate:
        for name in ("url", "where"):
            refused = await gate.call("act", {"x": {name: "https://evil.example/"}})
            assert refused.error is not None
            assert refused.error.code == "policy_denied"
    async with gate_of(fetch, config=rule("act", "has(args.x.sum) && args.x.sum > 100")) as gate:
        for name in ("sum", "amount"):
            assert not (await gate.call("act", {"x": {"url": "https://good.example/", name: 9000}})).ok
    assert not seen.exists()


async def test_an_address_that_is_sent_as_a_number_is_judged(tmp_path: Path):
    seen = tmp_path / "seen"
    ping = taking(IPvAnyAddress, seen, effects=["read_only", "network_access"], scopes={"net:outbound"})
    async with gate_of(ping) as gate:
        outcome = await gate.call("act", {"x": 2130706433})
    assert not seen.exists()
    assert outcome.error is not None
    assert "127.0.0.1" in outcome.error.message


class Speed(enum.Enum):
    SLOW = "slow"
    FAST = "fast"


async def test_defaults_that_are_written_loosely_are_shown_and_reach_the_function_as_its_hints_say(tmp_path: Path):
    seen = tmp_path / "seen"

    @tool(effects="system_state", risk="high")
    def ship(
        to: str,
        count: int = 1e6,  # pyright: ignore[reportArgumentType] - as many write it, here and below
        speed: Speed = "fast",  # pyright: ignore[reportArgumentType]
        price: Decimal = 9999.1,  # pyright: ignore[reportArgumentType]
        all_of: tuple[str, ...] = ["everything"],  # pyright: ignore[reportArgumentType]
    ) -> str:
        """Ship."""
        seen.write_text(f"{to} {count} {speed} {price} {all_of}")
        return "ok"

    async with gate_of(ship) as gate:
        asked = await gate.call("ship", {"to": "eve"})
        assert isinstance(asked, Pending)
        shown = (await gate.approval(asked.approval_id)).what
        for word in ("1000000", "fast", "9999.1", "everything"):
            assert word in shown
        await gate.approve(asked.approval_id, by="op")
        assert (await gate.resume(asked.approval_id)).ok
    assert seen.read_text() == "eve 1000000 Speed.FAST 9999.1 ('everything',)"


async def test_a_rule_and_the_grounds_see_defaults_that_are_written_loosely(tmp_path: Path):
    outside, inside = tmp_path / "outside", tmp_path / "inside"
    outside.mkdir()
    inside.mkdir()

    @tool(effects="modifies_files", risk="low", scopes=["fs:write"])
    def leave(folder: Path = str(outside)) -> str:  # pyright: ignore[reportArgumentType]
        """Leave a mark."""
        (folder / "mark").write_text("x")
        return "ok"

    @tool(effects="modifies_files", risk="low", scopes=["fs:write"])
    def leave_all(folders: Sequence[str] = (str(outside),)) -> str:
        """Leave marks."""
        for folder in folders:
            (Path(folder) / "mark").write_text("x")
        return "ok"

    @tool(effects="system_state", risk="low")
    def pay(amount: int = 1e6) -> str:  # pyright: ignore[reportArgumentType]
        """Pay."""
        (outside / "paid").write_text(str(amount))
        return "ok"

    dear = rule("pay", "args.amount > 100")
    async with gate_of(leave, leave_all, pay, config=dear, working_directory=inside) as gate:
        assert not (await gate.call("leave", {})).ok
        assert not (await gate.call("leave_all", {})).ok
        assert not (await gate.call("pay", {})).ok
        assert (await gate.call("pay", {"amount": 5})).ok
    assert [each.name for each in outside.iterdir()] == ["paid"]
    assert (outside / "paid").read_text() == "5"


async def test_a_default_behind_a_schema_of_ones_own_is_shown(tmp_path: Path):
    seen = tmp_path / "seen"
    number = {"type": "integer"}
    schema = {"type": "object", "properties": {"to": {"type": "string"}, "amount": number, "rest": number}}

    @tool(effects="system_state", risk="high", input_schema=schema)
    def pay(to: str = "eve", amount: int = 1000, rest: Any = tuple) -> str:
        """Pay."""
        seen.write_text(f"{to} {amount} {rest}")
        return "ok"

    async with gate_of(pay) as gate:
        asked = await gate.call("pay", {})
        assert isinstance(asked, Pending)
        shown = (await gate.approval(asked.approval_id)).what
        assert "eve" in shown
        assert "1000" in shown
        await gate.approve(asked.approval_id, by="op")
        assert (await gate.resume(asked.approval_id)).ok
    assert seen.read_text() == "eve 1000 <class 'tuple'>"
    assert "default" not in number
