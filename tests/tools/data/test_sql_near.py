"""What sql_query says of a name that SQLite does not know. TOOL-06."""

from __future__ import annotations

import re
from typing import Any

import pytest

from callgate.tools.data import sql_near, sqlite_engine
from callgate.tools.data.sql_worker import answer

TABLES = {"users": [{"name": "a-secret", "age": 30}], "orders": [{"user_id": 1, "Total": 2.5}]}


def told(query: str, tables: Any = None) -> str:
    question = {"query": query, "tables": TABLES if tables is None else tables, "seconds": 20}
    trouble = answer(sqlite_engine.ask_sqlite, question)
    assert trouble["error"] == "ValueError"
    assert "a-secret" not in trouble["text"]
    return trouble["text"]


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("SELECT * FROM user", "no such table: user; did you mean users?"),
        ("SELECT * FROM main.ordrs", "did you mean orders?"),
        ("SELECT * FROM cars", "no such table: cars; tables here: users, orders"),
        ("SELECT nmae FROM users", "no such column: nmae; did you mean name?"),
        ("SELECT u.nmae FROM users u", "no such column: u.nmae; did you mean name?"),
        ("SELECT totl FROM orders", "did you mean Total?"),
        ("SELECT zip FROM users", "no such column: zip; columns here: name, age, user_id, Total"),
        ('SELECT "agee" FROM users', "a text goes in single quotes; did you mean age?"),
        ("SELECT DATEDIFF(a, b) FROM (SELECT 1 AS a, 2 AS b)", "in SQLite write julianday(later) - julianday(earlier)"),
        ("SELECT now()", "in SQLite write datetime('now')"),
        ("SELECT lenght(name) FROM users", "no such function: lenght; did you mean length?"),
        ("SELECT frobnicate(1)", "use one of SQLite's own functions, or the engine duckdb"),
        ("SELEC 1", 'near "SELEC": syntax error'),
    ],
)
def test_a_name_that_is_not_there_leads_to_the_nearest(query: str, said: str) -> None:
    assert said in told(query)


def test_of_many_names_some_are_told_and_of_none_that_there_are_none() -> None:
    assert told("SELECT 1 FROM users", {}).endswith("no such table: users; the call gives no tables")
    assert told("SELECT zz FROM t", {"t": [{f"c{at}": 1 for at in range(20)}]}).endswith("c10, c11, …")


NUMBERS = {"t": [{"x": 10**9 + at} for at in range(5)]}
DAY, LATER = "'2024-02-28'", "'2024-03-01'"
PLACE = re.compile(r"…|\b(?:later|earlier|text|part|from|length)\b(?!\()")
MEAN = "FROM t, (SELECT avg(x) AS m FROM t)"
INSTEAD: list[tuple[str, str, tuple[str, ...], Any]] = [
    ("datediff", "julianday(later) - julianday(earlier)", (LATER, DAY), 2.0),
    ("dateadd date_add adddate", "date(…, '+1 day')", (DAY,), "2024-02-29"),
    ("date_sub subdate", "date(…, '-1 day')", (LATER,), "2024-02-29"),
    ("now getdate sysdate", "datetime('now')", (), None),
    ("curdate today", "date('now')", (), None),
    ("year month day date_part date_format to_char", "strftime('%Y-%m-%d', …)", (DAY,), "2024-02-28"),
    ("date_trunc", "strftime('%Y-%m-01', …)", (DAY,), "2024-02-01"),
    ("to_date", "date(…)", ("'2024-02-28 12:00'",), "2024-02-28"),
    ("len char_length character_length", "length(…)", ("'Zoë'",), 3),
    ("nvl", "ifnull(…, …)", ("NULL", "1"), 1),
    ("charindex strpos position locate", "instr(text, part)", ("'abc'", "'c'"), 3),
    ("mid", "substr(text, from, length)", ("'abcd'", "2", "2"), "bc"),
    ("ucase", "upper(…)", ("'a'",), "A"),
    ("lcase", "lower(…)", ("'A'",), "a"),
    ("greatest", "max(…, …)", ("1", "2"), 2),
    ("least", "min(…, …)", ("1", "2"), 1),
    ("array_agg", "json_group_array(…)", ("x % 10",), "[0,1,2,3,4]"),
    ("lpad", "printf('%!10s', …)", ("'Zoë'",), "       Zoë"),
    ("lpad", "printf('%05d', …)", ("42",), "00042"),
    ("rpad", "printf('%-!10s', …)", ("'Zoë'",), "Zoë       "),
    ("stddev stdev stddev_samp", f"sqrt(sum((x - m)*(x - m))/(count(x) - 1)) {MEAN}", (), 2.5**0.5),
    ("stddev_pop", f"sqrt(avg((x - m)*(x - m))) {MEAN}", (), 2.0**0.5),
    ("variance var_samp", f"sum((x - m)*(x - m))/(count(x) - 1) {MEAN}", (), 2.5),
    ("var_pop", f"avg((x - m)*(x - m)) {MEAN}", (), 2.0),
    ("regexp regexp_like regexp_matches", "… LIKE 'a%'", ("'Abc'",), 1),
    ("regexp regexp_like regexp_matches", "… GLOB 'a[0-9]*'", ("'a1b'",), 1),
]
"""Functions of others, what is said instead, what stands in its places, and what that gives."""


@pytest.mark.parametrize("name", sql_near.MEANT)
def test_what_is_said_instead_of_a_function_of_others_is_what_that_gives(name: str) -> None:
    said = told(f"SELECT {name}(x) FROM t", NUMBERS)
    assert said.endswith(f"no such function: {name}; in SQLite write {sql_near.MEANT[name]}")
    mine = [entry for entry in INSTEAD if name in entry[0].split()]
    assert mine
    for _, form, places, value in mine:
        assert form in said
        query = PLACE.sub("{}", form).format(*places)
        query = f"SELECT {query}" if MEAN in query else f"SELECT {query} FROM t LIMIT 1"
        found = answer(sqlite_engine.ask_sqlite, {"query": query, "tables": NUMBERS, "seconds": 20})
        [[given_back]] = [row.values() for row in found["rows"]]
        assert value in {None, given_back} or given_back == pytest.approx(value)


@pytest.mark.parametrize("name", ["stddev", "stddev_pop"])
def test_a_spread_is_told_to_be_that_of_a_sample_or_of_all(name: str) -> None:
    said = told(f"SELECT {name}(x) FROM t", NUMBERS)
    assert ("sample" in said, "whole population" in said) == (name == "stddev", name == "stddev_pop")
