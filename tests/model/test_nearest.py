"""What is taken for a slip in writing a word, wherever a word is not known."""

from __future__ import annotations

import pytest

from callgate import Callgate
from callgate.model.nearest import nearest
from callgate.tools.data import sqlite_engine
from callgate.tools.data.sql_worker import answer


@pytest.mark.parametrize(
    ("word", "known"),
    [
        *(("fss", "fs"), ("too", "to"), ("agee", "age"), ("usr", "user"), ("nett", "net"), ("totl", "Total")),
        *(("nmae", "name"), ("mpc", "mcp"), ("lenght", "length"), ("clark", "clerk"), ("PI", "pi")),
        *(("signed-in", "signed_in"), ("readonly", "read_only"), (" high ", "high")),
    ],
)
def test_a_letter_too_many_or_too_few_and_two_that_are_swapped_are_slips(word: str, known: str) -> None:
    assert nearest(word, ["quite_another", known]) == known


@pytest.mark.parametrize(
    ("word", "known"),
    [
        *(("foo", "floor"), ("abc", "abs"), ("cash", "cosh"), ("network", "network_access"), ("a", "b")),
        *(("", "a"), ("a", ""), ("a" * 65, "a" * 65)),
    ],
)
def test_what_could_as_well_be_another_word_is_no_slip(word: str, known: str) -> None:
    assert nearest(word, [known]) is None


def test_the_nearest_is_told_and_of_equals_the_first() -> None:
    assert nearest("orders", ["order", "ordrs", "Orders"]) == "Orders"
    assert nearest("columns", ["column", "colums"]) == "column"
    assert nearest("anything", []) is None


def test_words_are_as_near_from_either_side() -> None:
    words = ["fs", "fss", "nmae", "name", "floor", "foo", "clark", "clerk", "read_only", "readonly"]
    assert all((nearest(one, [other]) is None) == (nearest(other, [one]) is None) for one in words for other in words)


def test_a_function_that_sqlite_has_not_is_not_guessed_from_half_of_its_letters() -> None:
    said = answer(sqlite_engine.ask_sqlite, {"query": "SELECT foo(1)", "tables": {}, "seconds": 20})["text"]
    assert said.endswith("no such function: foo; use one of SQLite's own functions, or the engine duckdb")


async def test_two_letters_that_are_swapped_are_a_slip_in_a_query_of_json_too() -> None:
    async with Callgate.open("memory://", builtin_tools=["data"]) as gate:
        assert "did you mean map?" in str(await gate.call("json_query", {"data": [], "query": "mpa(&a, @)"}))
