"""Finding tools: by what they are, by what they can do, by words; and a model finds only what it may use."""

from __future__ import annotations

from typing import Any

import pytest

from callgate import Callgate, Context, tool
from callgate.errors import ConfigurationError
from callgate.model.health import Health
from callgate.model.layer import Layer
from callgate.model.levels import HealthStatus, Origin
from tests.journeys.gates import gate_of

pytestmark = pytest.mark.usefixtures("on_each_store")


@tool(
    effects="read_only",
    category="mail",
    capabilities=["search", "mail"],
    connector="post",
    tags=["fast"],
    deterministic=True,
)
async def find_mail(words: str) -> list[str]:
    """Search the mailbox for messages."""
    return [words]


@tool(effects="system_state", risk="low", category="mail", capabilities=["mail"], connector="post", idempotent=True)
async def send_mail(to: str) -> str:
    """Send a message to somebody."""
    return to


@tool(effects="read_only", name="weather.today")
async def weather(place: str) -> str:
    """Tell the weather of a place."""
    return place


@tool()
async def undeclared_mail() -> str:
    """Send a message, and declare nothing."""
    return ""


def names(found: Any) -> list[str]:
    return [each.name for each in found]


def house() -> Callgate:
    return gate_of(find_mail, send_mail, weather, undeclared_mail)


async def test_tools_are_listed_by_what_they_are_and_what_they_can_do():
    async with house() as gate:
        assert names(gate.tools()) == ["find_mail", "send_mail", "weather.today", "undeclared_mail"]
        assert names(gate.tools(capability="mail")) == ["find_mail", "send_mail"]
        assert names(gate.tools(capability="mail", tags=["fast"])) == ["find_mail"]
        assert names(gate.tools(category="mail", connector="post")) == ["find_mail", "send_mail"]
        assert names(gate.tools(source=Origin.MCP)) == []
        gate.set_health("post", Health(status=HealthStatus.UNAVAILABLE, last_error="closed for the night"))
        assert names(gate.tools(healthy=True)) == ["weather.today", "undeclared_mail"]
        assert names(gate.tools(healthy=True, capability="mail")) == []
        assert "closed for the night" in (await gate.call("find_mail", {"words": "a"})).to_human()
        gate.set_health("post", Health())
        assert (await gate.call("find_mail", {"words": "a"})).ok


async def test_tools_are_listed_by_what_is_declared_of_them():
    async with house() as gate:
        assert names(gate.tools(read_only=True)) == ["find_mail", "weather.today"]
        assert names(gate.tools(read_only=False)) == ["send_mail", "undeclared_mail"]
        assert names(gate.tools(read_only=True, deterministic=True)) == ["find_mail"]
        assert names(gate.tools(deterministic=False, capability="mail")) == ["send_mail"]
        assert names(gate.tools(idempotent=True)) == ["send_mail"]
        assert names(gate.tools(idempotent=True, read_only=True)) == []
        assert names(gate.tools(read_only=None)) == names(gate.tools())


async def test_words_find_what_an_asker_may_use_best_first_and_an_operator_finds_everything():
    async with house() as gate:
        assert names(gate.search("send a message")) == ["send_mail", "find_mail"]
        assert names(gate.search("send a message", limit=1)) == ["send_mail"]
        assert names(gate.search("weather")) == ["weather.today"]
        assert gate.search("knitting") == gate.search("") == gate.search("message", limit=0) == []
        reader = Context(read_only=True)
        assert names(gate.search("send a message", context=reader)) == ["find_mail"]
        assert names(gate.search_all("send a message")) == ["send_mail", "undeclared_mail", "find_mail"]
        assert names(gate.search_all("send a message", limit=2)) == ["send_mail", "undeclared_mail"]
        gate.remove("send_mail")
        assert names(gate.search("send a message")) == ["find_mail"]


async def test_a_model_finds_the_tools_that_it_may_use_and_how_to_call_them():
    async with house() as gate:
        added = gate.add_search()
        assert (added.name, added.read_only, added.source) == ("search_tools", True, Origin.BUILTIN)
        found = (await gate.call("search_tools", {"query": "send a message"})).unwrap()
        assert found[0] == {
            "name": "send_mail",
            "description": "Send a message to somebody.",
            "input_schema": gate.pool().get("send_mail").input_schema,
        }
        assert [each["name"] for each in found] == ["send_mail", "find_mail"]
        [best] = (await gate.call("search_tools", {"query": "messages tools", "limit": 1})).unwrap()
        assert best["name"] in {"send_mail", "find_mail"}
        narrowed = Context(layers=(Layer(name="reader", deny=("send_mail",)),))
        found = (await gate.call("search_tools", {"query": "send a message"}, narrowed)).unwrap()
        assert [each["name"] for each in found] == ["find_mail"]
        assert (await gate.call("search_tools", {"query": "knitting"})).unwrap() == []


@pytest.mark.parametrize("arguments", [{"query": ""}, {"query": "a", "limit": 0}, {"query": "a" * 501}, {}])
async def test_a_search_has_words_and_a_limit(arguments: dict[str, Any]):
    async with house() as gate:
        gate.add_search()
        outcome = await gate.call("search_tools", arguments)
        assert outcome.error is not None
        assert outcome.error.code == "invalid_arguments"


async def test_a_gate_has_one_search_of_a_name():
    async with house() as gate:
        gate.add_search(name="find_tools")
        with pytest.raises(ConfigurationError, match="already registered"):
            gate.add_search(name="find_tools")


def test_blocking_code_has_the_search_too():
    with Callgate.open_sync("memory://") as gate:
        gate.add(find_mail, weather)
        gate.add_search()
        [found] = gate.call("search_tools", {"query": "weather"}).unwrap()
        assert found["name"] == "weather.today"
