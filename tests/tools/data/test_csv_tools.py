"""csv_to_json and json_to_csv: what is read and written, and that neither cuts nor guesses. TOOL-05."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from callgate import Callgate
from callgate.model.levels import Category
from tests.tools.data.asking import ask
from tests.tools.examples import run_examples


async def test_a_table_is_read_with_its_header_and_its_numbers() -> None:
    """TOOL-05: header names, delimiter, numbers."""
    found = await ask(
        "csv_to_json", csv_content='name;age;note\r\nAlice;30;"a; ""b""\nc"\r\nBob;-2.5e3;\r\n', delimiter=";"
    )
    assert found.unwrap() == [
        {"name": "Alice", "age": 30, "note": 'a; "b"\nc'},
        {"name": "Bob", "age": -2500.0, "note": ""},
    ]


async def test_without_a_header_the_columns_are_called_by_their_position() -> None:
    found = await ask("csv_to_json", csv_content="a,1\nb,2,x\n", has_header=False)
    assert found.unwrap() == [{"col_0": "a", "col_1": 1, "col_2": None}, {"col_0": "b", "col_1": 2, "col_2": "x"}]
    assert (await ask("csv_to_json", csv_content="")).unwrap() == []
    assert (await ask("csv_to_json", csv_content="\ufeffa,\n1,2\n")).unwrap() == [{"a": 1, "col_1": 2}]


@pytest.mark.parametrize(
    "text",
    [
        "007",
        "1_000",
        "+1",
        "1.",
        ".5",
        "0x10",
        "1e999",
        "1e-999",
        "3.14159265358979323846",
        "0.10000000000000001",
        "12345678901234567.5",
        "1.10.2",
        "9223372036854775808",
        "nan",
        "inf",
        "12345678901234567890123",
        "٣",
        " 1",
        "true",
        "-",
    ],
)
async def test_what_would_lose_something_as_a_number_stays_text(text: str) -> None:
    """TOOL-05: `007` and `1_000` stay text."""
    assert (await ask("csv_to_json", csv_content=f'a\n"{text}"\n')).unwrap() == [{"a": text}]


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("9223372036854775807", "9223372036854775807"),
        ("1.10", "1.1"),
        ("2.50", "2.5"),
        ("3.75", "3.75"),
        ("5.00", "5.0"),
        ("0." + "1" * 15 + "0" * 100, "0." + "1" * 15),
        ("0.30000000000000004", "0.30000000000000004"),
        ("1e5", "100000.0"),
        ("-2.5e3", "-2500.0"),
        ("1E-9", "1e-09"),
        ("-0", "-0.0"),
        ("-0.00", "-0.0"),
    ],
)
async def test_a_number_keeps_every_digit_and_its_sign(text: str, number: str) -> None:
    """TOOL-05: zeros that pad a decimal and the way it is written are all that may go: prices are numbers, each one."""
    [row] = (await ask("csv_to_json", csv_content=f"a\n{text}\n")).unwrap()
    assert repr(row["a"]) == number


async def test_ragged_rows_are_neither_cut_nor_filled_with_something() -> None:
    """TOOL-05: ragged rows are not silently cut."""
    found = await ask("csv_to_json", csv_content="a,b\n1\n1,2,3,4\n")
    assert found.unwrap() == [{"a": 1, "b": None}, {"a": 1, "b": 2, "col_2": 3, "col_3": 4}]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("name\nAlice\n\nBob\n", ["Alice", "", "Bob"]),
        ("name\r\nAlice\r\n\r\nBob", ["Alice", "", "Bob"]),
        ('name\nAlice\n""\nBob\n', ["Alice", "", "Bob"]),
        ("name\n\n\n", ["", ""]),
        ("\n\nname\nAlice\n", ["Alice"]),
        ("name\n", []),
        ("\n\n", []),
    ],
)
async def test_an_empty_line_of_one_column_is_an_empty_value(text: str, values: list[str]) -> None:
    """TOOL-05: its row was gone without a word."""
    assert (await ask("csv_to_json", csv_content=text)).unwrap() == [{"name": value} for value in values]


async def test_without_a_header_the_first_line_of_one_column_may_be_empty() -> None:
    found = await ask("csv_to_json", csv_content="\n1\n\n", has_header=False)
    assert found.unwrap() == [{"col_0": None}, {"col_0": 1}, {"col_0": None}]
    assert (await ask("csv_to_json", csv_content="\n\n", has_header=False)).unwrap() == []


async def test_an_empty_line_of_several_columns_is_no_row() -> None:
    assert (await ask("csv_to_json", csv_content="a,b\n\n1,2\n\n")).unwrap() == [{"a": 1, "b": 2}]
    assert (await ask("csv_to_json", csv_content="a\n1,2\n\n")).unwrap() == [{"a": 1, "col_1": 2}]


async def test_an_empty_value_among_numbers_is_null_and_among_texts_an_empty_text() -> None:
    """TOOL-05: "" among numbers counts as 0 in an average, and is more than 50."""
    text = "id,amount,note,mixed,none\n1,,,,\n2,10,x,n/a,\n3,80.5,,7,\n"
    rows = (await ask("csv_to_json", csv_content=text)).unwrap()
    assert [row["amount"] for row in rows] == [None, 10, 80.5]
    assert [row["note"] for row in rows] == ["", "x", ""]
    assert [row["mixed"] for row in rows] == [None, "n/a", 7]
    assert [row["none"] for row in rows] == ["", "", ""]
    query = "SELECT avg(amount) AS mean, sum(amount > 50) AS many FROM t"
    assert (await ask("sql_query", query=query, tables={"t": rows})).unwrap() == [{"mean": 45.25, "many": 1}]


async def test_null_among_numbers_comes_back_as_null() -> None:
    rows = [{"n": 1, "t": "x"}, {"n": None, "t": None}, {"n": 2.5, "t": ""}]
    written = (await ask("json_to_csv", data=rows)).unwrap()
    assert written == "n,t\n1,x\n,\n2.5,\n"
    read = (await ask("csv_to_json", csv_content=written)).unwrap()
    assert read == [{"n": 1, "t": "x"}, {"n": None, "t": ""}, {"n": 2.5, "t": ""}]


@pytest.mark.parametrize("empty", ["", None])
async def test_a_row_of_one_empty_value_comes_back(empty: Any) -> None:
    written = (await ask("json_to_csv", data=[{"a": "x"}, {"a": empty}, {"a": "y"}, {"a": empty}])).unwrap()
    found = (await ask("csv_to_json", csv_content=written)).unwrap()
    assert [row["a"] for row in found] == ["x", "", "y", ""]


async def test_one_long_row_costs_the_others_nothing() -> None:
    """TOOL-05: when names were put together for each row, this went through ten billion of them."""
    found = await ask("csv_to_json", csv_content="a\n" + "," * 100_000 + "\n" + "1\n" * 100_000)
    rows = found.unwrap()
    assert (len(rows[0]), rows[0]["col_100000"]) == (100_001, "")
    assert (len(rows), rows[-1]) == (100_001, {"a": 1})


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"csv_content": "a,a\n1,2\n"}, "two columns called a"),
        ({"csv_content": "a," * 200_000 + "a,a"}, "two columns called a"),
        ({"csv_content": 'a\n"b'}, "csv_content cannot be read in line 2: unexpected end of data"),
        ({"csv_content": "a\n" + "b" * 131_073}, "in line 2: a value has more than 131072 characters; is a quote"),
        ({"csv_content": "a", "delimiter": ""}, "one character"),
        ({"csv_content": "a", "delimiter": "::"}, "one character"),
        ({"csv_content": "a", "delimiter": '"'}, "one character"),
        ({"csv_content": "col_1\n1,2\n"}, "mend one"),
        (
            {"csv_content": "data/orders.csv"},
            "'data/orders.csv' is the path of a file; give its text, as read_file does",
        ),
        ({"csv_content": "id;name;price\n1;a;2\n2;b;3\n"}, "is separated by ';' and not by ','; say delimiter: ';'"),
        ({"csv_content": "id\tname\n1\ta\n", "delimiter": ";"}, r"is separated by '\t' and not by ';'"),
        ({"csv_content": "name;price;count\nTea;3,50;2\nMilk;1,20;1\n"}, "say delimiter: ';'"),
        ({"csv_content": "\ufeffname;city\r\nTea;Bern, CH\r\nMilk;Basel\r\n"}, "say delimiter: ';'"),
        ({"csv_content": "name\tprice\nTea\t3,50\n\nMilk\t1,20\n"}, r"say delimiter: '\t'"),
        ({"csv_content": '"name";"price"\n"Tea, green";"3,50"\n'}, "say delimiter: ';'"),
        ({"csv_content": 'name;price\nTea;"3,50"\n'}, "say delimiter: ';'"),
        ({"csv_content": "a" * 100_000 + "\n1" * 400}, "too large"),
        ({"csv_content": ",".join(f"c{at}" for at in range(5000)) + "\n1" * 5000}, "too large"),
        ({"csv_content": "a\n" + "," * 500_000}, "500000 values beyond"),
    ],
    ids=[
        "twice",
        "many-times",
        "open-quote",
        "long-value",
        "no-delimiter",
        "two-letters",
        "quote",
        "name-taken",
        "path",
        "semicolons",
        "tabs",
        "decimal-commas",
        "commas-in-texts",
        "tabs-and-decimal-commas",
        "quotes-everywhere",
        "quotes-where-commas-are",
        "long-name",
        "many-columns",
        "long-rows",
    ],
)
async def test_what_cannot_be_read_is_an_input_error(arguments: dict[str, Any], said: str) -> None:
    outcome = await ask("csv_to_json", **arguments)
    assert outcome.error.category is Category.USER_INPUT
    assert said in str(outcome)


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ('"id;name"\n"1;a"\n', [{"id;name": "1;a"}]),
        ("note\na;b\nc\n", [{"note": "a;b"}, {"note": "c"}]),
        ("a;b\nc\n", [{"a;b": "c"}]),
        ("orders.csv\n1\n", [{"orders.csv": 1}]),
        ("a;b,c\n1;2,3\n", [{"a;b": "1;2", "c": 3}]),
        ("a;b\n1;2,3\n4\n", [{"a;b": "1;2", "col_1": 3}, {"a;b": 4}]),
        ('"a;b"\n1;2,3\n', [{"a;b": "1;2", "col_1": 3}]),
        ('note\n"a;b",c\n', [{"note": "a;b", "col_1": "c"}]),
    ],
)
async def test_what_only_resembles_another_delimiter_or_a_path_is_read(text: str, rows: list[dict[str, Any]]) -> None:
    assert (await ask("csv_to_json", csv_content=text)).unwrap() == rows


async def test_a_value_may_be_long() -> None:
    assert (await ask("csv_to_json", csv_content="a\n" + "b" * 131_072)).unwrap() == [{"a": "b" * 131_072}]


async def test_objects_are_written_in_the_order_of_the_columns_or_sorted() -> None:
    """TOOL-05: given columns in order, else the sorted union; no rows are an empty text."""
    rows = [{"b": 1, "a": 'x,"y"'}, {"c": None, "a": [1, {"d": True}], "b": False}]
    assert (await ask("json_to_csv", data=rows)).unwrap() == ('a,b,c\n"x,""y""",1,\n"[1,{""d"":true}]",false,\n')
    assert (await ask("json_to_csv", data=rows, columns=["c", "b"])).unwrap() == "c,b\n,1\n,false\n"
    assert (await ask("json_to_csv", data=rows, columns=["d", "b"])).unwrap() == "d,b\n,1\n,false\n"
    assert (await ask("json_to_csv", data=[], columns=["a"])).unwrap() == ""


async def test_whole_numbers_are_written_with_every_digit() -> None:
    """TOOL-05: also those of more than 64 bits, and inside of lists."""
    written = await ask("json_to_csv", data=[{"a": 2**70, "b": [2**70], "c": {"d": -(2**64)}}])
    assert written.unwrap() == f'a,b,c\n{2**70},[{2**70}],"{{""d"":{-(2**64)}}}"\n'


async def test_what_was_written_is_read_again() -> None:
    rows = [{"name": "Zoë\n2", "n": 1, "f": 0.1}, {"name": "=1+1", "n": -7, "f": 1e-9}]
    written = (await ask("json_to_csv", data=rows)).unwrap()
    assert (await ask("csv_to_json", csv_content=written)).unwrap() == [dict(sorted(row.items())) for row in rows]


async def test_one_column_that_is_like_several_comes_back() -> None:
    rows = [{"a;b": "c;d"}, {"a;b": "e;f"}]
    written = (await ask("json_to_csv", data=rows)).unwrap()
    assert (await ask("csv_to_json", csv_content=written)).unwrap() == rows


async def test_a_line_break_of_any_kind_inside_of_a_text_ends_no_row() -> None:
    """TOOL-05: a bare CR ends a line to whoever reads it, and was written as it is."""
    rows = [{"a": "x\ry", "b": 1}, {"a": "\r\n", "b": 2}]
    assert (await ask("json_to_csv", data=rows)).unwrap() == 'a,b\n"x\ry",1\n"\r\n",2\n'
    header = (await ask("json_to_csv", data=[{"a\rb": 1}])).unwrap()
    assert (await ask("csv_to_json", csv_content=header)).unwrap() == [{"a\rb": 1}]


_TEXTS = st.text(
    st.sampled_from("\r\n,;\"' \t\0\ufeff\x0b\x85\u2028aé=") | st.characters(exclude_categories=["Cs", "N"])
)


@settings(deadline=None, max_examples=15)
@given(rows=st.lists(st.fixed_dictionaries({"a": _TEXTS, "b": _TEXTS}), min_size=10))
async def test_every_text_that_was_written_is_read_again(rows: list[dict[str, Any]]) -> None:
    """TOOL-05: both ways, whatever is in a text."""
    written = (await ask("json_to_csv", data=rows)).unwrap()
    assert (await ask("csv_to_json", csv_content=written)).unwrap() == rows


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"data": [{"a": 1}], "columns": ["a", "a"]}, "twice"),
        ({"data": [{"a": 1}] * 3000, "columns": [str(at) for at in range(3000)]}, "too large"),
        ({"data": [{str(at): 1} for at in range(3000)]}, "too large"),
    ],
    ids=["twice", "many-cells", "many-keys"],
)
async def test_what_cannot_be_written_is_an_input_error(arguments: dict[str, Any], said: str) -> None:
    outcome = await ask("json_to_csv", **arguments)
    assert outcome.error.category is Category.USER_INPUT
    assert said in str(outcome)


async def test_the_examples_run() -> None:
    async with Callgate.open("memory://", builtin_tools=["data"]) as gate:
        await run_examples(gate, "csv_to_json", "json_to_csv")
