"""What is said of a query in JMESPath that means something else than it says, or cannot be read. TOOL-04."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from callgate.model.levels import Category
from tests.tools.data.asking import ask

PEOPLE = [{"name": "Alice", "age": 30, "nick name": "Ali"}, {"name": "Bob", "age": 20, "first": "Bob"}, {"age": 3}]


ASKING = """
import sys
from callgate.tools.data.bounded_query import search
search("a" * 300_000 + sys.argv[1], {})
"""


async def answer_to(text: str, data: Any = None) -> Any:
    return await ask("json_query", data=PEOPLE if data is None else data, query=text)


UNREADABLE: list[tuple[str, str]] = [
    ("[?age==30]", "has a number, at '30]'; numbers are written in backquotes: `30`"),
    ("[?age > 10 && age < `20`]", "numbers are written in backquotes: `10`"),
    ("[?age == -1.5]", "numbers are written in backquotes: `-1.5`"),
    ("users.0.name", "has a position, at 'users.0.name', behind a dot; write users[0]"),
    ("len(@)", "there is no function len; did you mean length?"),
    ("[?lenght(name) > `3`]", "there is no function lenght; did you mean length?"),
    ("Sum(@)", "did you mean sum?"),
    ("frobnicate(@)", "there is no function frobnicate; there are abs, avg, ceil, contains"),
    ("$.a", "a path begins with a name, or with @ for the value itself; write a"),
    ("$[0].name", "write [0].name"),
    ("$", "has a $, which is not there: a path begins with a name, or with @"),
    ("[?a == $.b]", "has a $, which is not there"),
    ("a-b", 'has the name a-b, whose - is not read as a part of it; write "a-b", in double quotes'),
    ("x.first-name-2.y", 'write "first-name-2", in double quotes'),
    ("a-1", 'write "a-1", in double quotes'),
    ("[?age = `1`]", "has a single =, at '= `1`]'; write == to compare"),
    ("users[", "ends too early: something in it is not closed or not complete"),
    ("length(@", "ends too early"),
    ("[?name == 'it's']", "has a ' that nothing closes, at '']'"),
    ("a + b", "has +, at '+ b', which is not in the language or not complete"),
    ("user name", "cannot be read from 'name' on, in column 6: that cannot stand there"),
    ("", "cannot be empty"),
]


@pytest.mark.parametrize(("query", "said"), UNREADABLE, ids=[query or "empty" for query, _ in UNREADABLE])
async def test_a_query_that_cannot_be_read_says_where_and_what_to_write(query: str, said: str) -> None:
    outcome = await answer_to(query)
    assert outcome.error.category is Category.USER_INPUT
    assert said in str(outcome)


async def test_of_a_long_query_the_place_is_told_and_not_the_rest() -> None:
    said = str(await answer_to("a b" + "x" * 5000))
    assert "cannot be read from 'bxxxxxxxxxxxxxxxxxxxxxxx…' on" in said


@pytest.mark.parametrize("end", [" !", " 5", ".5", "-", "-b !"])
def test_a_long_query_that_cannot_be_read_is_read_as_fast_as_a_short_one(end: str) -> None:
    """It is read beside all other calls, which wait meanwhile. Letter by letter it would take ten minutes."""
    done = subprocess.run([sys.executable, "-c", ASKING, end], capture_output=True, text=True, timeout=60, check=False)
    assert "ValueError: query" in done.stderr


TAKEN_FOR_NAMES: list[tuple[str, str]] = [
    (
        '[?name == "Alice"]',
        """the field Alice, which nothing that is filtered has; write a text as 'Alice' or `"Alice"`""",
    ),
    ('[?"Alice" == name]', "the field Alice"),
    ('[?name != "Alice"].age', "the field Alice"),
    ('[?age > `1` && (name == "Al" || !(name == "Bob"))]', "the field Al"),
    ('[?name == "it\'s"]', "write a text as 'it\\'s'"),
    ('[?name && contains(name, "li")]', "the field li"),
    ('[?type(age) == "number"]', "write a text as 'number'"),
    ('[?age == "30"]', "write `30` (in backquotes), or for a text '30'"),
    ("[?age == true]", "write `true` (in backquotes)"),
    ("['a', 'b'][?@ == \"a\"]", "the field a"),
    ('[[0], [1]][].[@][?name == "y"] | length(@)', "the field y"),
]


@pytest.mark.parametrize(("query", "said"), TAKEN_FOR_NAMES, ids=[query for query, _ in TAKEN_FOR_NAMES])
async def test_a_text_that_is_written_as_a_name_is_refused_and_finds_not_just_nothing(query: str, said: str) -> None:
    outcome = await answer_to(query)
    assert outcome.error.category is Category.USER_INPUT
    assert said in str(outcome)


@pytest.mark.parametrize(
    ("query", "said"),
    [
        (
            '[?age > `10`] | [?starts_with(name, "A")]',
            "in double quotes stands the name of a field, write a text as 'A'",
        ),
        ('[?age > `10`].ends_with(name, "e")', "write a text as 'e'"),
        ('join("x", [].first)', "write a text as 'x'"),
    ],
)
async def test_a_text_in_double_quotes_that_a_function_is_given_is_told_as_a_name(query: str, said: str) -> None:
    outcome = await answer_to(query)
    assert outcome.error.category is Category.USER_INPUT
    assert "null, and it takes string" in str(outcome)
    assert said in str(outcome)


@pytest.mark.parametrize("query", ["[].starts_with(first, 'B')", "starts_with('a', `1`) || \"x\""])
async def test_of_names_that_no_function_is_given_in_quotes_nothing_is_said(query: str) -> None:
    outcome = await answer_to(query)
    assert "and it takes string" in str(outcome)
    assert "double quotes" not in str(outcome)


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ('[?name == "first"].name', ["Bob"]),
        ('[?"nick name" != name].name', ["Alice", "Bob"]),
        ("[?age > `100` || \"nick name\" == 'Ali'].name", ["Alice"]),
        ('[?"no such" == `null`].name', ["Alice", "Bob"]),
        ("[?\"no such\" == 'x'].name", []),
        ("[?name == null].age", [3]),
        ('[?age > `100` && name == "Alice"].name', []),
        ("[?first == 'Bob' && name != \"nick name\"].name", ["Bob"]),
        ('[].{"years": "name"}[].years', ["Alice", "Bob"]),
        ('[?contains(["first"], name)].name', ["Bob"]),
    ],
)
async def test_names_are_compared_also_where_some_of_what_is_filtered_lacks_them(query: str, names: list[Any]) -> None:
    assert (await answer_to(query)).unwrap() == names


async def test_of_nothing_that_is_filtered_nothing_is_said() -> None:
    assert (await answer_to('[?name == "Alice"]', [])).unwrap() == []
    assert (await answer_to('users[?name == "Alice"]', {"users": None})).unwrap() is None


async def test_a_name_that_one_of_several_groups_has_is_a_name_in_all_of_them() -> None:
    groups = {"groups": [{"users": [person]} for person in PEOPLE]}
    assert (await answer_to('groups[*].users[?name == "first"].name | []', groups)).unwrap() == ["Bob"]
    assert "the field frist" in str(await answer_to('groups[*].users[?name == "frist"].name', groups))


DEEP = [
    {"n": {"a-b": 1, "c-d": 1}, "seen": False},
    {"n": {"a-b": 1}, "seen": True},
    {"n": {"a-b": 2}, "seen": True, "more": [{"a-b": 3, "e-f": 3}, {"a-b": 4}]},
]


@pytest.mark.parametrize(
    ("query", "places"),
    [
        ('[?n | "a-b" == "c-d"]', [0]),
        ('[?n.["a-b" == "c-d"] | [0]]', [0]),
        ('[?seen && (n | "a-b" == "c-d")]', []),
        ('[?more[?"a-b" == "e-f"]]', [2]),
        ('[?length(map(&("a-b" == "e-f"), more || `[]`)) > `0`]', [2]),
        ('[?{"x-y": `1`, "a-b": seen} | "x-y" != "a-b"]', [0, 1, 2]),
        ('[?("no-such" | @) == "n"]', []),
    ],
)
async def test_a_name_is_one_where_what_it_is_taken_of_has_it(query: str, places: list[int]) -> None:
    """Which need not be what is filtered, and be it in a part that no condition has come to."""
    assert (await answer_to(query, DEEP)).unwrap() == [DEEP[at] for at in places]


@pytest.mark.parametrize(
    "query",
    ['[?n | "a-b" == "Alice"]', '[?"a-b" == seen]', '[?more[?"a-b" == "c-d"]]', '[?map(&("a-b" == "Al"), [n])]'],
)
async def test_a_name_that_nothing_has_which_it_is_taken_of_is_refused(query: str) -> None:
    outcome = await answer_to(query, DEEP)
    assert outcome.error.category is Category.USER_INPUT
    assert "which nothing that is filtered has; write a text as" in str(outcome)


@pytest.mark.parametrize("text", ['{"users": [{"a": 1}]}', ' [{"a": 1}]\n', "[]", "{}"])
@pytest.mark.parametrize("query", ["users[0].a", "[?a == `1`]", "length(@)", "contains(@, 'a')", "@"])
async def test_json_inside_of_a_text_is_refused_and_finds_not_just_nothing(text: str, query: str) -> None:
    outcome = await answer_to(query, text)
    assert outcome.error.category is Category.USER_INPUT
    assert "data is a text that has JSON in it; give that JSON itself, not as a text, or json_parse it" in str(outcome)


@pytest.mark.parametrize("text", ["[a] plain text", '{"a": 1', "12", '"a"', "null", ""])
async def test_any_other_text_is_asked_as_it_is(text: str) -> None:
    assert (await answer_to("length(@)", text)).unwrap() == len(text)


@pytest.mark.parametrize(
    ("query", "write"),
    [
        ("@ | length", "length(@)"),
        ("[?age > `10`] | length", "length(@)"),
        ("[].name | sort | [0]", "sort(@)"),
        ("[0] | keys", "keys(@)"),
        ("[].name | join", "join(…)"),
        ("[].name | last", "[-1]"),
        ("@ | count", "length(@)"),
        ("[].[@ | keys]", "keys(@)"),
    ],
)
async def test_a_function_without_parentheses_behind_a_pipe_is_told_with_what_to_write(query: str, write: str) -> None:
    outcome = await answer_to(query)
    assert outcome.error.category is Category.USER_INPUT
    assert f"behind a |, and nothing in data has one; write {write}" in str(outcome)


@pytest.mark.parametrize(
    ("query", "answer"),
    [
        ("[1] | first", "Bob"),
        ("[0] | first", None),
        ("[9] | length", None),
        ('@ | "length"', None),
        ("[0] | {length: length(@)} | length", 3),
        ("[] | length(@)", 3),
    ],
)
async def test_behind_a_pipe_a_field_of_the_name_of_a_function_is_one_where_something_has_it(
    query: str, answer: Any
) -> None:
    assert (await answer_to(query)).unwrap() == answer
