"""json_parse and json_query: known answers, limits, and what is no JSON or no query. TOOL-04."""

from __future__ import annotations

import re
import tracemalloc
from typing import Any

import pytest

from callgate import Callgate
from callgate.model.levels import Category
from tests.tools.data.asking import ask
from tests.tools.examples import run_examples

PEOPLE = {"users": [{"name": "Alice", "age": 30}, {"name": "Bob", "age": 20}]}


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


@pytest.mark.parametrize(
    ("data", "query", "answer"),
    [
        ([[1], [True]], "[0] == [1]", False),
        ([[1], [True]], "[0] != [1]", True),
        ([{"a": 0}, {"a": False}], "[0] == [1]", False),
        ([1, 1.0, True, [1.0], {"a": [1]}], '[[0] == [1], [0] == [2], [3] == `[1]`, [4] == `{"a": [1.0]}`]', "tftt"),
        ([[0], [0.0], [False]], "[?@ == `[0]`]", [[0], [0.0]]),
        ([True], "contains(@, `1`)", False),
        ([[0]], "contains(@, `[false]`)", False),
        ([1.0], "contains(@, `1`)", True),
        ("foobar", "[contains(@, 'oba'), contains(@, `123`)]", "tf"),
    ],
)
async def test_a_truth_value_is_no_number_however_deep_it_lies(data: Any, query: str, answer: Any) -> None:
    """TOOL-04: to Python `true` is 1, to JMESPath it is equal to itself only."""
    if isinstance(answer, str):
        answer = [letter == "t" for letter in answer]
    assert repr((await ask("json_query", data=data, query=query)).unwrap()) == repr(answer)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("12", 12),
        ("-0.5e+1", -5.0),
        ("1E2", 100.0),
        ("0", 0),
        (str(2**70), 2**70),
        *(
            (text, None)
            for text in ["1_000", "007", "\u0967\u0968", " 12 ", "12\n", "+5", ".5", "5.", "0x1", "nan", "inf", ""]
        ),
    ],
)
async def test_a_text_becomes_a_number_only_as_json_writes_one(text: str, number: Any) -> None:
    """TOOL-04: Python reads more than that."""
    assert repr((await ask("json_query", data=text, query="to_number(@)")).unwrap()) == repr(number)


async def test_what_has_no_order_is_left_out_and_no_error() -> None:
    """TOOL-04: between a text and a number `<` gives null; one such entry made the whole query an error."""
    ages: list[Any] = [{"a": 30}, {"a": "x"}, {"a": True}, {"a": None}, {}, {"a": 2.5}]
    assert (await ask("json_query", data=ages, query="[?a > `25`]")).unwrap() == [{"a": 30}]
    assert (await ask("json_query", data=ages, query="[?a <= 'x' || a < `3`].a")).unwrap() == ["x", 2.5]
    assert (await ask("json_query", data=ages, query="[*].[a >= `30`, a < `31`]")).unwrap()[:2] == [
        [True] * 2,
        [None] * 2,
    ]


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("[::0]", "the step of a slice is 0"),
        ('merge(@, `[["a", 1]]`)', "merge() what is no object"),
        ("merge(@, '')", "merge() what is no object"),
        ("[?a == `NaN`]", "no JSON"),
        ("[?a < `[Infinity]`]", "no JSON"),
        ("type(&a)", "take an expression (&)"),
        ("contains(`[]`, &a)", "take an expression (&)"),
    ],
)
async def test_what_the_specification_does_not_know_is_an_input_error(query: str, said: str) -> None:
    outcome = await ask("json_query", data={}, query=query)
    assert outcome.error.category is Category.USER_INPUT
    assert said in str(outcome)
    assert "query" in str(outcome)


async def test_an_answer_belongs_to_whoever_asked() -> None:
    """A literal was kept with its query, and what one caller did to it was the answer of the next."""
    for _ in range(2):
        found = (await ask("json_query", data={}, query='`[1, {"a": []}]`')).unwrap()
        assert found == [1, {"a": []}]
        found[1]["a"].append(found.pop(0))


async def test_text_is_read_and_a_value_taken_out_of_it() -> None:
    parsed = await ask("json_parse", content='{"users": [{"name": "Ann"}]}', extract_path="users.0.name")
    assert parsed.unwrap() == {"data": "Ann", "type": "string"}
    last = await ask("json_parse", content='{"users": [1, {"name": "Ann"}]}', extract_path="users.-1.name")
    assert last.unwrap() == parsed.unwrap()
    assert (await ask("json_parse", content="null")).unwrap() == {"data": None, "type": "null"}


@pytest.mark.parametrize("number", [2**63 - 1, 2**64, -(2**63) - 1, 2**70])
async def test_a_whole_number_keeps_every_digit(number: int) -> None:
    parsed = await ask("json_parse", content=f'{{"id": [{number}]}}', extract_path="id.0")
    assert parsed.unwrap() == {"data": number, "type": "number"}


USERS = '{"users": [{"name": "Ann", "age": 3}]}'
TO_A_QUERY = "a path takes one value, json_query does filters and projections"


@pytest.mark.parametrize(
    ("content", "path", "said"),
    [
        ("{", None, "no JSON"),
        ("NaN", None, "no JSON"),
        *((f"[{number}]", None, "a number in line 1, column 2 that is too large") for number in ("1" * 5000, "1e999")),
        ('{"a": 1}', "b", "there is no b"),
        *(("[1]", step, f"there is no {step}") for step in ("\u0660", "0_0", "+0", "1" * 30, "-2")),
        ("[1]", "1", "there is no 1"),
        ("[1]", "0.x", "there is no x"),
        ('{"users": [{"name": "Ann"}]}', "users[0].name", "no users[0]; positions and names have dots between them"),
        ('{"users": [{"name": "Ann"}]}', "users[0].name", "write users.0.name"),
        ('{"a": {"b": [[1]]}}', "$.a['b'][0][0]", "write a.b.0.0"),
        ("[1]", "[0]", "write 0"),
        ("[[1]]", "[-1][-1].x", "write -1.-1.x"),
        ('{"a": {}}', "$.a.b", "write a.b"),
        *(
            (USERS, path, TO_A_QUERY)
            for path in ("users[*].age", "users[?age]", "users.*.age", "users[0:2]", "users[]")
        ),
        *((USERS, path, TO_A_QUERY) for path in ("$.users[?(@.age > 3)]", "*", "users[0][name]", "$..users[*]")),
    ],
)
async def test_what_cannot_be_read_is_an_input_error(content: str, path: str | None, said: str) -> None:
    outcome = await ask("json_parse", content=content, extract_path=path)
    assert outcome.error.category is Category.USER_INPUT
    assert said in str(outcome)


@pytest.mark.parametrize("path", ["users[0].name", "$.users[-1]['name']", "$['users'][0].name", "$.users.0.name"])
async def test_what_is_said_to_write_instead_of_a_path_is_answered(path: str) -> None:
    said = str(await ask("json_parse", content=USERS, extract_path=path))
    written = re.search(r"write ([^\s;]+)", said)
    assert written is not None
    assert (await ask("json_parse", content=USERS, extract_path=written[1])).unwrap()["data"] == "Ann"


async def test_of_a_path_that_looks_everywhere_nothing_is_said_to_write() -> None:
    said = str(await ask("json_parse", content=USERS, extract_path="$..name"))
    assert "have dots between them" in said
    assert "write" not in said


async def test_a_name_with_brackets_in_it_is_a_name() -> None:
    parsed = await ask("json_parse", content='{"users[0]": {"$": 1}}', extract_path="users[0].$")
    assert parsed.unwrap() == {"data": 1, "type": "number"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("[*].[" + "@, " * 400 + "@]", "too"),
        ("|".join(["[@, @]"] * 60), "too"),
        ("[" + ", ".join(["@"] * 300) + "] | [] | " + "[" + ", ".join(["@"] * 300) + "] | []", "too"),
        ("map(&[" + ", ".join(["@"] * 500) + "], [].[@, @, @, @][])", "too"),
        ("|".join(["[@, @]"] * 14) + " | to_string(@) | [@, @, @, @] | join('', @) | [@, @] | join('', @)", "too"),
        ("|".join(["map(&@, map(&@, map(&@, map(&@, @))))"] * 100), "too much work"),
        ('[*].{"' + "x" * 9000 + '": @}', "too much"),
        ("[" + ", ".join(["@"] * 180) + "]", "finds too much"),
        ("(" * 2000 + "@" + ")" * 2000, "too deeply"),
        ("`" + "[" * 3000 + "]" * 3000 + "`", "too deeply"),
    ],
    ids=["projection", "doubling", "product", "map", "text", "work", "names", "answer", "parentheses", "literal"],
)
async def test_a_query_that_multiplies_its_data_is_stopped_and_told_so(query: str, said: str) -> None:
    """TOOL-04: what a query makes is bounded, also where it is made of few parts."""
    outcome = await ask("json_query", data=list(range(3000)), query=query)
    assert outcome.error.category is Category.USER_INPUT
    assert said in str(outcome)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("data", "query"),
    [
        ({"g": "x" * 50_000, "l": [""] * 16_000}, "join(g, l)"),
        ({"g": "x" * 450_000, "l": [""] * 160_000}, "join(g, l)"),
        ("x" * 50_000, "|".join(["[@, @]"] * 8) + " | join('', @)"),
        ("\0" * 80_000, "|".join(["[@, @]"] * 7) + " | to_string(@)"),
        ("9" * 4300, "to_number(@) | " + "|".join(["[@, @]"] * 16) + " | to_string(@)"),
        (list(range(9)), "|".join(["[@, @]"] * 16) + " | abs(@)"),
    ],
    ids=["join", "join-of-gigabytes", "join-of-copies", "to_string", "long-numbers", "what-an-error-shows"],
)
async def test_a_text_is_measured_before_it_is_made(data: Any, query: str) -> None:
    """TOOL-04: a small question does not take the memory of the machine, nor give an answer of megabytes."""
    async with Callgate.open("memory://", builtin_tools=["data"]) as gate:
        await gate.call("json_query", {"data": 1, "query": "@"})
        tracemalloc.start()
        try:
            outcome: Any = await gate.call("json_query", {"data": data, "query": query})
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert outcome.error.category is Category.USER_INPUT
    assert peak < 150_000_000
    assert len(str(outcome)) < 1000


async def test_texts_are_made_as_jmespath_says() -> None:
    assert (await ask("json_query", data=["a", "b"], query="join(', ', @)")).unwrap() == "a, b"
    assert (await ask("json_query", data=[], query="join(', ', @)")).unwrap() == ""
    found = await ask("json_query", data=["x", {"a": [1, 2.5, None, "é"]}], query="[*].to_string(@)")
    assert found.unwrap() == ["x", '{"a":[1,2.5,null,"\\u00e9"]}']


@pytest.mark.parametrize(
    ("data", "query"),
    [
        ([1e308, 1e308], "sum(@)"),
        (["1e999"], "[].to_number(@)"),
        (1, "`NaN`"),
        (1, "&a"),
        (1, "[&a]"),
        (1, "to_string(&a)"),
        (1, '`"\\ud800"`'),
    ],
    ids=["sum", "infinite", "literal", "expression", "inside", "as-text", "half-a-letter"],
)
async def test_what_is_not_json_is_an_input_error(data: Any, query: str) -> None:
    """TOOL-04: the error says what to do, and the tool is not said to have broken its word."""
    outcome = await ask("json_query", data=data, query=query)
    assert outcome.error.category is Category.USER_INPUT
    assert "query finds" in str(outcome) or "query cannot" in str(outcome)
    assert "unexpectedly" not in str(outcome)


async def test_large_data_is_asked_without_being_searched_for_paths() -> None:
    people: list[dict[str, Any]] = [{"path": f"callgate.yaml/{at}", "age": at % 90} for at in range(10_000)]
    found = await ask("json_query", data=people, query="length([?age > `80`])")
    assert found.unwrap() == sum(person["age"] > 80 for person in people)


async def test_json_that_is_nested_without_end_is_an_input_error() -> None:
    outcome = await ask("json_parse", content="[" * 900 + "]" * 900)
    assert outcome.error.category is Category.USER_INPUT
    assert "levels deep" in str(outcome)
    assert (await ask("json_parse", content="[" * 150 + "]" * 150)).ok


async def test_the_examples_run() -> None:
    async with Callgate.open("memory://", builtin_tools=["data"]) as gate:
        await run_examples(gate, "json_parse", "json_query")
