"""sql_query with DuckDB: what Python has no value for is told as DuckDB writes it. TOOL-06."""

from __future__ import annotations

import datetime as dt
import sys
from pathlib import Path
from typing import Any

import pytest

import callgate
from callgate import Callgate
from callgate.model.levels import Category

EXACT = 2**53
"""The last whole number before those of which floats leave out every second one."""


async def duck(query: str, tables: Any = None) -> Any:
    async with Callgate.open("memory://", builtin_tools=["sql_query"]) as gate:
        return await gate.call("sql_query", {"query": query, "tables": tables or {}, "engine": "duckdb"})


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("DATE '2020-01-02'", "2020-01-02"),
        ("'infinity'::DATE", "infinity"),
        ("'-infinity'::TIMESTAMP", "-infinity"),
        ("DATE '0044-03-15 (BC)'", "0044-03-15 (BC)"),
        ("TIMESTAMP '2020-01-02 03:04:05'", "2020-01-02 03:04:05"),
        ("TIMESTAMP_NS '2024-01-01 00:00:00.123456789'", "2024-01-01 00:00:00.123456789"),
        ("TIMESTAMPTZ '2024-01-01 00:00:00+02'", "2023-12-31 22:00:00+00"),
        ("TIME '12:30:00'", "12:30:00"),
        ("TIMETZ '12:30:00+02'", "12:30:00+02"),
        ("INTERVAL 1 MONTH", "1 month"),
        ("INTERVAL 30 DAY", "30 days"),
        ("[INTERVAL 1 MONTH, NULL]", ["1 month", None]),
        ("[DATE '2020-01-02']::DATE[1]", ["2020-01-02"]),
        ("""{'a"b': DATE '2020-01-02', 'n': NULL, 'm': 1.5}""", {'a"b': "2020-01-02", "n": None, "m": 1.5}),
        ("row(1, 'infinity'::DATE)", [1, "infinity"]),
        ("MAP {DATE '2020-01-02': INTERVAL 2 YEAR}", {"2020-01-02": "2 years"}),
        ("union_value(a := 1)::UNION(a INTEGER, b INTERVAL)", 1),
        ("union_value(b := INTERVAL 1 MONTH)", "1 month"),
        ("{'d': 'infinity'::DATE, 'n': 42, 's': '42'}::VARIANT", '{"d":"infinity","n":42,"s":"42"}'),
        ("UUID '00000000-0000-0000-0000-00000000000a'", "00000000-0000-0000-0000-00000000000a"),
    ],
)
async def test_what_python_has_no_value_for_is_told_as_duckdb_writes_it(value: str, told: Any) -> None:
    """TOOL-06: a month was 30 days, infinity the last day of the year 9999, and nanoseconds were lost."""
    [row] = (await duck(f"SELECT 1 AS n, {value} AS v -- a comment")).unwrap()
    assert row == {"n": 1, "v": told}


@pytest.mark.parametrize("query", ["SELECT now() AS t", "SELECT [current_timestamp][1] AS t;"])
async def test_the_moment_of_a_query_is_told_in_utc(query: str) -> None:
    """TOOL-06: it was an error, which showed where Callgate is installed."""
    [row] = (await duck(query)).unwrap()
    assert abs(dt.datetime.fromisoformat(row["t"]) - dt.datetime.now(dt.UTC)) < dt.timedelta(minutes=5)
    assert row["t"].endswith("+00")


async def test_rows_with_texts_keep_their_order_and_their_end() -> None:
    query = "SELECT i, DATE '2020-01-01' + i::INTEGER AS d FROM range({}) t(i) ORDER BY i % 7, i DESC"
    rows = (await duck(query.format(9000))).unwrap()
    assert [row["i"] for row in rows] == sorted(range(9000), key=lambda number: (number % 7, -number))
    assert "more than 10000 rows" in str(await duck(query.format(10_001)))


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("SELECT DATE '2020-01-02' AS a, 1 AS a", "two columns the name a"),
        ("SELECT DATE '2020-01-02' AS a,\n 'x'::DATE AS b", "LINE 2:  'x'::DATE AS b"),
        ("SELECT now() AS a, nme", '"nme"'),
        ("SELECT now() AS a, 9e999 AS b", "JSON has no form"),
    ],
)
async def test_a_query_for_texts_that_is_wrong_is_told_as_any_other(query: str, said: str) -> None:
    outcome = await duck(query)
    assert outcome.error.category is Category.USER_INPUT
    assert said in outcome.error.message


@pytest.mark.parametrize("mark", ["Traceback (most recent call last):", "Stack Trace:"])
async def test_an_error_of_the_engine_shows_nothing_of_where_it_runs(mark: str) -> None:
    """TOOL-06: its errors may hold those of Python, and of itself."""
    house, packages = Path(callgate.__file__).parent, Path(sys.modules["pytest"].__file__ or "").parents[1]
    words = f'no {house}/x.py and {packages}/duckdb/y.so today\n{mark}\n  File "{house}/z.py", line 1'
    outcome = await duck(f"SELECT error('{words}') AS e")
    assert outcome.error.category is Category.USER_INPUT
    assert "no … and … today" in outcome.error.message
    assert not any(word in outcome.error.message for word in (str(house), str(packages), mark, "line 1"))


@pytest.mark.parametrize(
    ("query", "what"),
    [
        ("SELECT st_point(1, 2)", "spatial"),
        ("SELECT * FROM sqlite_scan('a.db', 't')", "sqlite_scanner"),
        ("SELECT ''::inet", "inet"),
    ],
)
async def test_no_extension_is_advised_that_cannot_be_loaded(query: str, what: str) -> None:
    told = (await duck(query)).error.message
    assert told.endswith(f"in the {what} extension. No extensions can be loaded here; use what is in DuckDB itself.")
    assert "INSTALL" not in told


async def test_a_whole_number_beside_decimals_keeps_its_digits_or_is_refused() -> None:
    """TOOL-06: 9007199254740993 was 9007199254740992.0."""
    fits = await duck("SELECT a FROM t", {"t": [{"a": EXACT}, {"a": 0.5}, {}]})
    assert fits.unwrap() == [{"a": EXACT}, {"a": 0.5}, {"a": None}]
    outcome = await duck("SELECT a FROM t", {"t": [{"a": EXACT + 1}, {"a": 0.5}]})
    assert outcome.error.category is Category.USER_INPUT
    assert f"tables.t.a has {EXACT + 1} beside decimals" in outcome.error.message
    assert (await duck("SELECT a FROM t", {"t": [{"a": EXACT + 1}]})).unwrap() == [{"a": EXACT + 1}]
