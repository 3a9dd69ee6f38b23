"""A parameter that the tool does not have: what was probably meant, and what there is."""

from collections.abc import Iterator
from typing import Any

import pytest

from callgate import build_tool, tool
from callgate.model.tool import Tool
from callgate.secrets.strike import process_striker
from callgate.testing import memory_gate

USUAL = "Correct the arguments by the tool's schema and call again."


@tool(effects="read_only")
async def read_page(path: str, limit: int = 10, output_format: str = "text") -> str:
    """Read a page."""
    return path * limit + output_format


@tool(effects="read_only")
async def bare() -> str:
    """Take nothing."""
    return ""


def made(**schema: Any) -> Tool:
    """A tool with this schema of its own."""

    async def run(_arguments: dict[str, Any], _context: Any) -> str:
        raise AssertionError

    definition = {"name": "made", "description": "", "input_schema": {"type": "object"} | schema, "execute": run}
    return build_tool(definition, effects="read_only")


async def advice(asked: Any, arguments: Any) -> str | None:
    """What the refusal of such a call advises."""
    async with memory_gate(asked) as gate:
        outcome = await gate.call(gate.tools()[0].name, arguments)
    assert outcome.error is not None
    assert outcome.error.code == "invalid_arguments"
    return outcome.error.suggestion


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"paht": "a"}, "Did you mean path instead of paht? "),
        ({"url": "a"}, ""),
        ({"pathname": "a"}, "Did you mean path instead of pathname? "),
        ({"path": "a", "Limits": 1}, "Did you mean limit instead of Limits? "),
        (
            {"path": "a", "limmit": 1, "outputFormat": "x"},
            "Did you mean limit instead of limmit, and output_format instead of outputFormat? ",
        ),
        ({"path": "a", "paths": "b"}, ""),
    ],
)
async def test_the_nearest_parameter_and_all_there_are_are_named(arguments: dict[str, Any], told: str):
    listed = "The tool takes path (needed), limit, output_format. Correct the arguments and call again."
    assert await advice(read_page, arguments) == told + listed


async def test_a_tool_without_parameters_says_so():
    assert await advice(bare, {"x": 1}) == "The tool takes no arguments. Correct the arguments and call again."


async def test_of_many_parameters_those_that_are_needed_come_first_and_the_rest_is_counted():
    properties = {f"name_{at}": {"type": "string"} for at in range(30)}
    told = await advice(made(properties=properties, required=["name_25"], additionalProperties=False), {"x": 1})
    assert told is not None
    assert told.startswith("The tool takes name_25 (needed), name_0, ")
    assert told.count("name_") == 20
    assert ", and 10 more. " in told


async def test_a_parameter_that_is_there_and_does_not_fit_changes_nothing_about_the_advice():
    assert await advice(read_page, {"path": 1}) == USUAL
    assert await advice(read_page, {}) == USUAL


@pytest.mark.parametrize(
    "schema",
    [
        {"required": ["other"]},
        {"required": ["other"], "additionalProperties": True},
        {"additionalProperties": {"type": "integer"}},
        {"additionalProperties": False, "patternProperties": {"^x": {"type": "integer"}}},
    ],
)
async def test_nothing_is_advised_where_other_names_are_allowed(schema: dict[str, Any]):
    properties = {"path": {"type": "string"}}
    assert await advice(made(properties=properties, **schema), {"path": "a", "x": "b"}) == USUAL


async def test_two_misspelt_names_are_led_to_two_parameters():
    two = made(properties={"limit": {}, "limits": {}}, additionalProperties=False)
    told = await advice(two, {"limmit": 1, "limiit": 2})
    assert told is not None
    assert told.startswith("Did you mean limit instead of limmit, and limits instead of limiit? ")
    told = await advice(made(properties={"path": {}}, additionalProperties=False), {"pat": 1, "paht": 2})
    assert told is not None
    assert told.startswith("Did you mean path instead of pat? ")


async def test_hidden_characters_of_names_are_shown_and_long_ones_cut():
    told = await advice(read_page, {"path": "a", "limit\u200b" + "t" * 3: 1})
    assert told is not None
    assert "limit instead of limit<U+200B>ttt" in told
    far = await advice(read_page, {"path": "a", "limit" * 10_000: 1})
    assert far is not None
    assert len(far) < 1000


async def test_a_secret_that_stands_for_a_name_is_struck_there_too():
    secret = "limit-of-the-archive-4815162342"
    process_striker().remember(secret, connector="archive", key="key")
    told = await advice(made(properties={"limit_of_the_archive": {}}, additionalProperties=False), {secret: 1})
    assert told is not None
    assert "limit_of_the_archive" in told
    assert secret not in told


class Fickle(dict[Any, Any]):
    """Names that cannot be read twice."""

    def __iter__(self) -> Iterator[Any]:
        raise RuntimeError("never again")


async def test_names_that_cannot_be_read_are_refused_all_the_same():
    assert await advice(made(properties={"path": {}}, additionalProperties=False), Fickle(x=1)) == USUAL
    assert await advice(read_page, {1: 2, "path": 1}) == USUAL
