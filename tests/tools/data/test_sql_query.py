"""sql_query: what it finds, with the types that were given, and where it stops. TOOL-06."""

from __future__ import annotations

import asyncio
import datetime as dt
import importlib.util
import math
import os
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from callgate import Callgate
from callgate.model.levels import Category
from callgate.tools import interpreter
from callgate.tools.data import duckdb_engine, sql_rows, sql_tool, sqlite_engine
from callgate.tools.data.sql_tables import read_tables
from callgate.tools.data.sql_worker import answer
from tests.tools.data.asking import ask
from tests.tools.examples import run_examples

PEOPLE = [{"name": "Alice", "age": 30}, {"name": "Bob", "age": 20}, {"name": "Carl", "age": 100}]
ENGINES = pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
ENDLESS = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) "
NINE = ENDLESS.replace("FROM c)", "FROM c WHERE x < 9)")


async def ask_sql(query: str, tables: Any = None, **more: Any) -> Any:
    return await ask("sql_query", query=query, tables=tables or {}, **more)


def ask_here(engine: str, query: str, tables: Any = None, *, seconds: float = 20) -> dict[str, Any]:
    """As the process does it, but in this one."""
    make = sqlite_engine.ask_sqlite if engine == "sqlite" else duckdb_engine.ready()
    return answer(make, {"query": query, "tables": tables or {}, "seconds": seconds})


@ENGINES
async def test_numbers_keep_their_type(engine: str) -> None:
    """TOOL-06: rows as objects, and 100 is more than 25."""
    found = await ask_sql("SELECT name, age FROM users WHERE age > 25", {"users": PEOPLE}, engine=engine)
    assert found.unwrap() == [{"name": "Alice", "age": 30}, {"name": "Carl", "age": 100}]


@ENGINES
@pytest.mark.parametrize(
    "query",
    [
        'SELECT name FROM users WHERE "agee" > 25',
        'SELECT "nme" FROM users',
        'SELECT name FROM users -- "name"\nWHERE name = "Alice"',
        """SELECT '"' AS a, "nme" FROM users""",
        'SELECT u."nme" FROM users AS u',
    ],
)
def test_a_mistyped_name_in_double_quotes_is_no_text(engine: str, query: str) -> None:
    trouble = ask_here(engine, query, {"users": PEOPLE})
    assert "rows" not in trouble
    assert "column" in str(trouble)


def test_of_a_text_in_double_quotes_it_is_said_how_texts_are_written() -> None:
    trouble = ask_here("sqlite", 'SELECT name FROM users WHERE name = "Alice"', {"users": PEOPLE})
    for asked in ("EXPLAIN", "/* a * b */ -- c\n EXPLAIN QUERY PLAN"):
        assert "no such column: nme" in str(ask_here("sqlite", f'{asked} SELECT "nme" FROM users', {"users": PEOPLE}))
        assert "rows" in ask_here("sqlite", f'{asked} SELECT "name" FROM users', {"users": PEOPLE})
    assert "no such column: Alice; in double quotes stands the name of a column" in str(trouble)


@ENGINES
@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ('SELECT "age" + 1 AS "one more" FROM "users" WHERE "name" = \'Bob\'', [{"one more": 21}]),
        ("""SELECT '"x"' AS a /* "b" */, 1 AS "c`d""e" -- "f""", [{"a": '"x"', 'c`d"e': 1}]),
    ],
)
def test_names_and_texts_with_double_quotes_are_what_they_are(
    engine: str, query: str, rows: list[dict[str, Any]]
) -> None:
    assert ask_here(engine, query, {"users": PEOPLE}) == {"rows": rows}


@ENGINES
@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ("SELECT count(*) AS n, sum(age) AS years FROM users", [{"n": 3, "years": 150}]),
        ("WITH old AS (SELECT * FROM users WHERE age > 25) SELECT avg(age) AS a FROM old", [{"a": 65.0}]),
        ("SELECT name, rank() OVER (ORDER BY age) AS r FROM users LIMIT 1", [{"name": "Bob", "r": 1}]),
        ("SELECT u.name, p.pet FROM users u JOIN pets p ON p.owner = u.name", [{"name": "Bob", "pet": "Rex"}]),
        ("SELECT 1 AS one WHERE 1 = 0", []),
        ("SELECT 'x' AS a, NULL AS b, 0.5 AS c", [{"a": "x", "b": None, "c": 0.5}]),
        ("SELECT upper(name) AS n FROM users WHERE name LIKE 'C%'", [{"n": "CARL"}]),
        ("SELECT count(*) AS n FROM nobody", [{"n": 0}]),
        (NINE + "SELECT count(*) AS n, max(x) AS m FROM c", [{"n": 9, "m": 9}]),
    ],
    ids=["sum", "with", "window", "join", "nothing", "values", "like", "empty-table", "recursive"],
)
def test_a_query_is_answered(engine: str, query: str, rows: list[dict[str, Any]]) -> None:
    tables = {"users": PEOPLE, "pets": [{"pet": "Rex", "owner": "Bob"}], "nobody": []}
    assert ask_here(engine, query, tables) == {"rows": rows}


@ENGINES
def test_names_and_values_of_any_kind_are_data(engine: str) -> None:
    odd = {'a"b; DROP TABLE x': [{"se lect": "'; --", "list": [1, {"k": None}], "big": 2**63 - 1, "ok": True}]}
    found = ask_here(engine, 'SELECT * FROM "a""b; DROP TABLE x"', odd)
    truth = 1 if engine == "sqlite" else True
    assert found == {"rows": [{"se lect": "'; --", "list": '[1,{"k":null}]', "big": 2**63 - 1, "ok": truth}]}


async def test_numbers_of_more_than_64_bits_lose_no_digit() -> None:
    """TOOL-06: in a table they are refused with the reason; in what is found they stay exact."""
    outcome = await ask_sql("SELECT * FROM t", {"t": [{"a": 2**70}]})
    assert outcome.error.category is Category.USER_INPUT
    assert f"tables.t.a has the number {2**70}, which has more than 64 bits" in str(outcome)
    nested = await ask_sql("SELECT json_extract(a, '$[1].n') AS a FROM t", {"t": [{"a": ["ä", {"n": -(2**63) - 1}]}]})
    assert f"tables.t.a has the number {-(2**63) - 1}, which has more than 64 bits" in str(nested)
    found = await ask_sql("SELECT sum(a) AS a FROM t", {"t": [{"a": 2**63 - 1}] * 3}, engine="duckdb")
    assert found.unwrap() == [{"a": 3 * (2**63 - 1)}]


def test_sqlite_takes_mixed_columns_and_opens_json() -> None:
    mixed = {"t": [{"v": 1}, {"v": "1"}, {"v": 1.5}, {}, {"v": [7, 8]}]}
    assert ask_here("sqlite", "SELECT typeof(v) AS k FROM t", mixed) == {
        "rows": [{"k": kind} for kind in ("integer", "text", "real", "null", "text")]
    }
    opened = ask_here("sqlite", "SELECT j.value AS v FROM t, json_each(t.v) j WHERE json_type(t.v) = 'array'", mixed)
    assert opened == {"rows": [{"v": 7}, {"v": 8}]}


def test_what_duckdb_finds_is_json() -> None:
    query = "SELECT DATE '2020-01-02' AS d, 1.50::DECIMAL(9,2) AS m, [1, 2] AS l, {'k': 'v'} AS s, 'ab'::BLOB AS b"
    assert ask_here("duckdb", query) == {
        "rows": [{"d": "2020-01-02", "m": 1.5, "l": [1, 2], "s": {"k": "v"}, "b": "6162"}]
    }
    assert "mixes int and str" in ask_here("duckdb", "SELECT 1", {"t": [{"v": 1}, {"v": "1"}]})["text"]
    assert ask_here("duckdb", "SELECT sum(v) AS v FROM t", {"t": [{"v": 1}, {"v": 1.5}, {}]}) == {"rows": [{"v": 2.5}]}


@ENGINES
@pytest.mark.parametrize("names", [("Masse", "Maße"), ("Ä", "ä"), ("k", "\N{KELVIN SIGN}")])
def test_names_that_sql_tells_apart_are_two(engine: str, names: tuple[str, str]) -> None:
    row = dict(zip(names, (1, 2), strict=True))
    assert ask_here(engine, "SELECT * FROM t", {"t": [row]}) == {"rows": [row]}
    tables = {name: [{"a": at}] for at, name in enumerate(names)}
    assert ask_here(engine, f'SELECT a FROM "{names[1]}"', tables) == {"rows": [{"a": 1}]}


async def test_a_decimal_keeps_its_digits() -> None:
    """TOOL-06: as a number where that has the same digits, and otherwise as text; it was rounded to 17 digits."""
    query = (
        "SELECT 123456789012345678.99 AS a, -0.10::DECIMAL(9, 2) AS b, [1.5, 12345678901234567.1] AS c,"
        " 100000000000000000000000000000::DECIMAL(38, 2) AS d, 0.1 + 0.2 AS e, sum(i) AS f,"
        " 12345678901234567890::DECIMAL(38, 2) AS g FROM range(3) t(i)"
    )
    [row] = (await ask_sql(query, engine="duckdb")).unwrap()
    assert row == {
        "a": "123456789012345678.99",
        "b": -0.1,
        "c": [1.5, "12345678901234567.1"],
        "d": 1e29,
        "e": 0.3,
        "f": 3,
        "g": 12345678901234567890,
    }


@ENGINES
async def test_a_truth_value_stays_one_where_the_engine_has_them(engine: str) -> None:
    """TOOL-06: SQLite has none."""
    found = (await ask_sql("SELECT a, NOT a AS b FROM t", {"t": [{"a": True}]}, engine=engine)).unwrap()
    assert repr(found[0]) == ("{'a': 1, 'b': 0}" if engine == "sqlite" else "{'a': True, 'b': False}")


@ENGINES
@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("SELECT nme FROM users", "nme"),
        ("SELEC", "cannot be answered"),
        ("SELECT 1; SELECT 2", "statement"),
        ("-- nothing", "query"),
        ("SELECT name, name FROM users", "two columns the name name"),
        ("SELECT 9e999 AS x", "JSON has no form"),
    ],
    ids=["column", "word", "two", "comment", "twice", "infinite"],
)
async def test_a_query_that_is_wrong_is_an_input_error_and_no_row(engine: str, query: str, said: str) -> None:
    """TOOL-06: errors are errors rather than a row."""
    outcome = await ask_sql(query, {"users": PEOPLE}, engine=engine)
    assert outcome.error.category is Category.USER_INPUT
    assert said in str(outcome)


@pytest.mark.parametrize(
    ("tables", "said"),
    [
        ({"t": [{"a": 1, "A": 2}]}, "takes for the same"),
        ({"t": [], "T": []}, "takes for the same"),
        ({"": []}, "empty"),
        ({"t": [{"a\n": 1}]}, "not printable"),
        ({"t": [{"a": 2**64}]}, "64 bits"),
        ({"t": [dict[str, Any](), {}]}, "has rows and no columns"),
        ({"t": [{f"c{at}": 1 for at in range(501)}]}, "too large"),
        ({"t": [{f"c{row % 500}": 1} for row in range(2100)]}, "too large"),
        ({f"t{at}": [{"a": 1}] for at in range(51)}, "at most 50"),
        ({"t": [{"a": "x" * 300_000}]}, "too big"),
    ],
    ids=["columns", "tables", "no-name", "line", "large-number", "no-keys", "wide", "sparse", "many", "long-value"],
)
def test_tables_that_cannot_be_are_input_errors(tables: Any, said: str) -> None:
    told = ask_here("sqlite", "SELECT 1 AS a", tables)
    assert told["error"] == "ValueError"
    assert said in told["text"]


@ENGINES
def test_rows_and_bytes_have_an_end(engine: str) -> None:
    numbers = {"t": [{"n": at} for at in range(200)]}
    exactly = ask_here(engine, "SELECT a.n FROM t a, t b LIMIT 10000", numbers)
    assert len(exactly["rows"]) == 10_000
    assert "more than 10000 rows" in ask_here(engine, "SELECT a.n FROM t a, t b LIMIT 10001", numbers)["text"]
    long = {"t": [{"s": "x" * 100_000}]}
    many = f"SELECT t.s FROM t, ({' UNION ALL '.join(['SELECT 1 AS n'] * 60)}) AS n"
    assert "bytes" in ask_here(engine, many, long)["text"]


@ENGINES
def test_a_query_without_an_end_is_stopped(engine: str) -> None:
    told = ask_here(engine, ENDLESS + "SELECT count(*) AS n FROM c", seconds=0.2)
    assert told["error"] == "ValueError"
    assert "longer than 0.2 seconds" in told["text"]


@pytest.mark.parametrize(
    ("engine", "query", "said"),
    [
        ("sqlite", "VACUUM INTO 'x'", "ATTACH or VACUUM is not allowed"),
        ("sqlite", "PRAGMA writable_schema = ON", "PRAGMA is not allowed"),
        ("sqlite", "SELECT * FROM pragma_database_list", "is not allowed"),
        ("sqlite", "WITH p AS (SELECT * FROM pragma_database_list) SELECT * FROM p", "is not allowed"),
        ("sqlite", "SELECT * FROM sqlite_temp_master", "the table sqlite_temp_master is not allowed"),
        ("sqlite", "SELECT load_extension('x')", "the function load_extension is not allowed"),
        ("duckdb", "ATTACH 'x'", "ATTACH is not allowed"),
        ("duckdb", "SELECT * FROM read_text('x')", "nothing outside can be reached"),
        ("duckdb", "SELECT * FROM enable_logging()", "nothing outside can be reached"),
    ],
    ids=[
        "vacuum",
        "pragma",
        "virtual",
        "virtual-with",
        "table",
        "function",
        "duckdb-attach",
        "duckdb-file",
        "duckdb-setting",
    ],
)
def test_what_is_refused_is_told_by_name(engine: str, query: str, said: str) -> None:
    """TOOL-06: anything but reading is refused, and the answer says what."""
    told = ask_here(engine, query, {"users": PEOPLE})
    assert told["error"] == "PermissionError"
    assert said in told["text"]


@ENGINES
@pytest.mark.parametrize(
    "query",
    [
        "DELETE FROM users",
        "INSERT INTO users VALUES ('x', 1) RETURNING *",
        "UPDATE users SET age = 1",
        "DROP TABLE users",
        "CREATE TABLE t (a INTEGER)",
        "BEGIN",
        "WITH x AS (SELECT 'y' AS a) INSERT INTO users SELECT a, 1 FROM x",
    ],
)
async def test_of_a_change_it_is_said_to_write_a_select(engine: str, query: str) -> None:
    """TOOL-06: no rights would make it possible, so that it is an error of the input."""
    outcome = await ask_sql(query, {"users": PEOPLE}, engine=engine)
    assert outcome.error.category is Category.USER_INPUT
    assert "sql_query only reads the tables it is given" in str(outcome)
    assert "is not allowed; write a SELECT" in str(outcome)


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("EXPLAIN SELECT 1", "write the SELECT itself"),
        ("explain ANALYZE SELECT age FROM users", "EXPLAIN is answered by the engine sqlite only"),
        ("PIVOT users ON name USING sum(age)", "PIVOT t ON a IN ('x', 'y') USING count(*)"),
        ("WITH p AS (PIVOT users ON name USING sum(age)) SELECT * FROM p", "where the values are named"),
    ],
)
async def test_what_reads_and_is_not_answered_says_what_to_write(query: str, said: str) -> None:
    outcome = await ask_sql(query, {"users": PEOPLE}, engine="duckdb")
    assert outcome.error.category is Category.USER_INPUT
    assert said in str(outcome)


def test_a_pivot_whose_values_are_named_is_answered() -> None:
    query = "PIVOT users ON name IN ('Alice', 'Bob') USING sum(age)"
    assert ask_here("duckdb", query, {"users": PEOPLE}) == {"rows": [{"Alice": 30, "Bob": 20}]}


def test_wrong_queries_and_too_much_memory_are_told_by_the_engine_itself() -> None:
    assert "no such column" in ask_here("sqlite", "SELECT nme FROM users", {"users": PEOPLE})["text"]
    assert "2 statements" in ask_here("duckdb", "SELECT 1; SELECT 2")["text"]
    assert "nme" in ask_here("duckdb", "SELECT nme FROM users", {"users": PEOPLE})["text"]
    assert "two columns" in ask_here("sqlite", "SELECT 1 AS a, 2 AS a")["text"]
    assert "JSON has no form" in ask_here("sqlite", "SELECT 9e999 AS a")["text"]
    assert "write a SELECT" in ask_here("sqlite", "-- nothing")["text"]
    assert "memory" in ask_here("duckdb", "SELECT list(range) AS l FROM range(1000000000)")["text"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("engine", "query"),
    [
        ("sqlite", ENDLESS + "SELECT hex(randomblob(100000)) AS r FROM c ORDER BY r"),
        ("sqlite", ENDLESS + "SELECT count(DISTINCT hex(randomblob(100000))) AS r FROM c"),
        ("duckdb", "SELECT list(range) AS l FROM range(1000000000)"),
    ],
    ids=["sort", "distinct", "list"],
)
async def test_a_query_that_takes_all_memory_is_stopped(engine: str, query: str) -> None:
    outcome = await ask_sql(query, engine=engine)
    assert outcome.error.category is Category.USER_INPUT
    assert "memory" in str(outcome)


@pytest.mark.slow
async def test_one_step_that_takes_long_is_stopped_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """A function of SQLite is not stopped by SQLite: this one would compare letters for many seconds."""
    monkeypatch.setattr(sql_tool, "SECONDS", 0.2)
    texts = [{"a": "a" * 200_000, "b": "b" * 19_999 + "a"}]
    outcome = await ask_sql("SELECT length(trim(a, b)) AS n FROM t", {"t": texts})
    assert outcome.error.category is Category.USER_INPUT
    assert "longer than 0.2 seconds" in str(outcome)


@pytest.mark.slow
async def test_what_an_engine_prints_is_no_part_of_the_answer() -> None:
    """DuckDB draws how far it is when a query takes two seconds, as this one does."""
    slow = "SELECT count(DISTINCT h % 100) AS n FROM (SELECT hash(i) AS h FROM range(100000000) t(i))"
    assert (await ask_sql(slow, engine="duckdb")).unwrap() == [{"n": 100}]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("printf('%.*c', 999999999, 'a')", "repeats a character too often"),
        ("format('%-5.999999999lc', 'a')", "repeats a character too often"),
        ("printf('%300000d', 1)", "more than 262144 bytes"),
        ("printf(x'25333030303030640', 1)", "cannot be answered"),
        ("printf(CAST('%300000s' AS BLOB), 1)", "more than 262144 bytes"),
    ],
    ids=["as-often-as-told", "as-often-as-written", "wide", "broken", "bytes"],
)
def test_a_text_that_is_too_long_is_told_and_not_null(text: str, said: str) -> None:
    """SQLite writes it for half a minute, and gives NULL."""
    told = ask_here("sqlite", f"SELECT {text} AS t")
    assert told["error"] == "ValueError"
    assert said in told["text"]


def test_a_template_of_many_zeros_is_looked_through_once() -> None:
    assert ask_here("sqlite", "SELECT printf('%' || hex(zeroblob(100000)) || 'd', 1) AS t") == {"rows": [{"t": "1"}]}


def test_printf_and_format_write_as_sqlite_does() -> None:
    query = (
        "SELECT printf('%05d|%-*s|%.*f|%.3c|%,d|%%', 7, 4, 'ab', 2, 1.239, 'x', 1234567) AS a,"
        " format('%d of 1000000', NULL) AS b, printf(NULL) AS c, printf() AS d, printf(5) AS e"
    )
    row = {"a": "00007|ab  |1.24|xxx|1,234,567|%", "b": "0 of 1000000", "c": None, "d": None, "e": "5"}
    assert ask_here("sqlite", query)["rows"] == [row]


async def test_nothing_is_left_running_when_nobody_waits_any_more(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[asyncio.subprocess.Process] = []
    start = asyncio.create_subprocess_exec

    async def noticed(*command: Any, **options: Any) -> asyncio.subprocess.Process:
        started.append(await start(*command, **options))
        return started[-1]

    monkeypatch.setattr(interpreter.asyncio, "create_subprocess_exec", noticed)
    async with Callgate.open("memory://", builtin_tools=["data"]) as gate:
        outcome = await gate.call("sql_query", {"query": ENDLESS + "SELECT count(*) AS n FROM c"}, timeout=0.5)
        assert outcome.error is not None
        assert outcome.error.category is Category.TIMEOUT
    assert started
    for worker in started:
        with pytest.raises(ProcessLookupError):
            os.kill(worker.pid, 0)


async def test_a_missing_engine_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    here = importlib.util.find_spec

    def find_spec(name: str, package: str | None = None) -> ModuleSpec | None:
        return None if name == "duckdb" else here(name, package)

    monkeypatch.setattr(importlib.util, "find_spec", find_spec)
    assert "pip install 'callgate[duckdb]'" in str(await ask_sql("SELECT 1", engine="duckdb"))


async def test_a_process_that_ends_without_an_answer_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interpreter, "_CODE", "import sys; sys.exit(3)")
    assert (await ask_sql("SELECT 1 AS a")).error.category is Category.RUNTIME
    monkeypatch.setattr(interpreter, "_CODE", "import os; os.kill(os.getpid(), 9)")
    assert "most likely" in str(await ask_sql("SELECT 1 AS a"))


def test_odd_values_of_an_engine_have_a_form() -> None:
    row = (dt.timedelta(1), UUID(int=0), {1: math.pi}, object)
    [found] = sql_rows.read_rows(["a", "b", "c", "d"], [row])
    assert found == {"a": "1 day, 0:00:00", "b": str(UUID(int=0)), "c": {"1": math.pi}, "d": str(object)}
    assert read_tables({}) == []


async def test_large_tables_and_columns_called_path_are_data(tmp_path: Path) -> None:
    rows = [{"path": str(tmp_path / "callgate.yaml"), "n": at} for at in range(8_000)]
    found = await ask_sql("SELECT count(*) AS n, max(n) AS m FROM files", {"files": rows})
    assert found.unwrap() == [{"n": 8000, "m": 7999}]


async def test_the_examples_run() -> None:
    async with Callgate.open("memory://", builtin_tools=["data"]) as gate:
        await run_examples(gate, "sql_query")
