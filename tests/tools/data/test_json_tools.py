"""json_parse and json_query: known answers, limits, and what is no JSON or no query. TOOL-04."""

from __future__ import annotations

from typing import Any

import pytest

from callgate import Callgate
from callgate.model.levels import Category
from tests.tools.examples import run_examples

PEOPLE = {"users": [{"name": "Alice", "age": 30}, {"name": "Bob", "age": 20}]}


async def ask(name: str, **arguments: Any) -> Any:
    async with Callgate.open("memory://", builtin_tools=["data"]) as gate:
        return await gate.call(name, arguments)


@pytest.mark.parametrize(
    ("query", "answer"),
    [
        ("users[*].name", ["Alice", "Bob"]),
        ("users[?age > `25`].name", ["Alice"]),
        ("users[-1].name", "Bob"),
        ("users[::-1].name", ["Bob", "Alice"]),
        ("length(users)", 2),
        ("sort_by(users, &age)[0].{who: name}", {"who": "Bob"}),
        ("nothing.here", None),
    ],
)
async def test_a_query_finds_what_jmespath_says(query: str, answer: Any) -> None:
    """TOOL-04: filters, negative indices, slices, functions and projections."""
    assert (await ask("json_query", data=PEOPLE, query=query)).unwrap() == answer


@pytest.mark.parametrize("query", ["users[", "unknown_function(users)", "length(`1`)", ""])
async def test_a_query_that_is_none_is_an_input_error(query: str) -> None:
    outcome = await ask("json_query", data=PEOPLE, query=query)
    assert outcome.error.category is Category.USER_INPUT
    assert "query" in str(outcome)


async def test_text_is_read_and_a_value_taken_out_of_it() -> None:
    parsed = await ask("json_parse", content='{"users": [{"name": "Ann"}]}', extract_path="users.0.name")
    assert parsed.unwrap() == {"data": "Ann", "type": "string"}
    assert (await ask("json_parse", content="null")).unwrap() == {"data": None, "type": "null"}


@pytest.mark.parametrize(
    ("content", "path", "said"),
    [
        ("{", None, "no JSON"),
        ("NaN", None, "no JSON"),
        ('{"a": 1}', "b", "there is no b"),
        ("[1]", "1", "there is no 1"),
        ("[1]", "0.x", "there is no x"),
    ],
    ids=["cut", "not-a-number", "no-name", "no-position", "no-inside"],
)
async def test_what_cannot_be_read_is_an_input_error(content: str, path: str | None, said: str) -> None:
    outcome = await ask("json_parse", content=content, extract_path=path)
    assert outcome.error.category is Category.USER_INPUT
    assert said in str(outcome)


async def test_the_examples_run() -> None:
    async with Callgate.open("memory://", builtin_tools=["data"]) as gate:
        await run_examples(gate, "json_parse", "json_query")
