"""csv_to_json and json_to_csv: tables as text, and as lists of objects; nothing is cut, and no digits are lost."""

from __future__ import annotations

import csv
import io
import json
import operator
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from decimal import Decimal
from itertools import dropwhile
from typing import Any

from callgate.adapters.function import tool
from callgate.tools.data.nothing_outside import nothing_outside

MOST_BYTES = 8 * 1024 * 1024
"""Of what is given back. A long name of a column is repeated in every row."""
MOST_CELLS = 1_000_000
_INTEGER = re.compile(r"0|-?[1-9][0-9]*")
_DECIMAL = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,3})?")
_LONGEST_INTEGER = 20
_LARGEST = 2**63
_PATH = re.compile(r"\S{1,300}\.(?:csv|tsv|txt)", re.IGNORECASE)
_DELIMITERS = (";", "\t", "|", ",")
_BOTH_ENDS = "\r\n"


@tool(
    effects="read_only",
    deterministic=True,
    concurrency_safe=True,
    scopes=[],
    resources=nothing_outside,
    output_schema={"type": "array", "items": {"type": "object"}},
    examples=[{"csv_content": "name,age\nAlice,30\nBob,20\n"}],
)
def csv_to_json(  # noqa: PLR0917 - a tool's arguments have names
    csv_content: str,
    delimiter: str = ",",
    has_header: bool = True,  # noqa: FBT001, FBT002 - as above
) -> list[dict[str, Any]]:
    """Read CSV text as a list of objects.

    A number becomes a number where no digit is lost: `1.10` is 1.1, `1e5` is 100000.0. `007`, `1_000` and what has more
    digits than a number keeps stay text. An empty value is null in a column that has a number, and else an empty text.
    In a row that is too long the further values are called by their position (`col_3`), and in one that is too short
    the missing are null. In a table of one column an empty line is an empty value, in others it is nothing. A value
    has at most 131072 characters.

    Args:
        csv_content: The CSV text, quoted with " where needed.
        delimiter: The one character between two values; a tab may be one.
        has_header: Whether the first row names the columns; otherwise they are col_0, col_1, …
    """
    content = csv_content.removeprefix("\ufeff")
    _refuse_mistaken(content, delimiter)
    rows = _rows(content, delimiter, has_header=has_header)
    names = _header(rows.pop(0)) if has_header and rows else []
    widest = max(map(len, rows), default=0)
    # Without a header every column counts; with one, what goes beyond it is only in the rows that have it.
    further = [f"col_{at}" for at in range(len(names), widest)]
    named = names if has_header else further
    if has_header and not set(further).isdisjoint(names):
        raise ValueError(f"csv_content has rows with {widest} values and a header of {len(names)}; mend one of them")
    beyond = sum(max(0, len(row) - len(named)) for row in rows)
    size = _size(named) * len(rows) + _size(further[-1:]) * beyond + 2 * len(csv_content)
    if size > MOST_BYTES:
        raise ValueError(
            f"csv_content is too large as JSON: {len(rows)} rows of {len(named)} columns, and {beyond} values beyond"
            " them; give it in parts"
        )
    every = [*names, *further]
    return _without_empty_numbers([_object(row, every, least=len(named)) for row in rows])


def _size(names: Sequence[str]) -> int:
    """Of the names and the signs around them, in one row."""
    return sum(len(name) + 8 for name in names)


def _rows(content: str, delimiter: str, *, has_header: bool) -> list[list[str]]:
    reader = csv.reader(io.StringIO(content, newline=""), delimiter=delimiter, strict=True)
    try:
        lines = list(reader)
    except csv.Error as error:
        most = csv.field_size_limit()
        why = f"a value has more than {most} characters; is a quote missing?" if "field limit" in str(error) else error
        raise ValueError(f"csv_content cannot be read in line {reader.line_num}: {why}") from None
    if max(map(len, lines), default=0) != 1:
        return [row for row in lines if row]
    # A header has a name, so that it begins behind empty lines.
    return [row or [""] for row in (dropwhile(operator.not_, lines) if has_header else lines)]


def _refuse_mistaken(content: str, delimiter: str) -> None:
    """Refuse the path of a file, and what is separated by something else; in quotes a value is taken as it is."""
    if len(delimiter) != 1 or delimiter in '"\r\n\0':
        raise ValueError("delimiter must be one character, and no quote or line break")
    text = content.strip("\r\n")
    if _PATH.fullmatch(text) and delimiter not in text and '"' not in text:
        raise ValueError(f"csv_content {text!r} is the path of a file; give its text, as read_file does")
    # Values further down may have it as a decimal comma; the header of a table has it between two names.
    if next(_lengths(content, delimiter), 1) > 1:
        return
    for other in _DELIMITERS:
        if _makes_table(content, other):
            told = f"csv_content is separated by {other!r} and not by {delimiter!r}"
            raise ValueError(f"{told}; say delimiter: {other!r}, or put values with {other!r} in quotes")


def _makes_table(content: str, delimiter: str) -> bool:
    """Whether it makes rows that are all as long as the first, and that has several values."""
    lengths = _lengths(content, delimiter)
    first, second = next(lengths, 0), next(lengths, 0)
    return first == second > 1 and all(length == first for length in lengths)


def _lengths(content: str, delimiter: str) -> Iterator[int]:
    """How many values each row has; 0 of what cannot be read."""
    reader = csv.reader(io.StringIO(content, newline=""), delimiter=delimiter, strict=True)
    try:
        yield from (len(row) for row in reader if row)
    except csv.Error:
        yield 0


def _header(row: Sequence[str]) -> list[str]:
    names = [name.strip() or f"col_{at}" for at, name in enumerate(row)]
    twice = next((name for name, count in Counter(names).items() if count > 1), None)
    if twice is not None:
        raise ValueError(f"csv_content has two columns called {twice}; rename one, or say has_header: false")
    return names


def _object(row: Sequence[str], names: Sequence[str], *, least: int) -> dict[str, Any]:
    found: dict[str, Any] = {name: _value(text) for name, text in zip(names, row, strict=False)}
    return found | dict.fromkeys(names[len(row) : least])


def _without_empty_numbers(objects: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Nothing among numbers is null: as a text it would be more than each of them, and 0 in their mean."""
    numbers = {name for each in objects for name, value in each.items() if isinstance(value, int | float)}
    for each in objects:
        each.update(dict.fromkeys([name for name, value in each.items() if value == "" and name in numbers]))
    return objects


def _value(text: str) -> Any:
    """Each by itself, whatever else is in its column, but for an empty one."""
    if _INTEGER.fullmatch(text):
        # One that does not fit is an identifier to somebody; as a decimal it would lose its last digits.
        return int(text) if len(text) <= _LONGEST_INTEGER and -_LARGEST <= int(text) < _LARGEST else text
    if not _DECIMAL.fullmatch(text):
        return text
    number = float(text)
    written = repr(number)
    return number if written == text or Decimal(written) == Decimal(text) else text


@tool(
    effects="read_only",
    deterministic=True,
    concurrency_safe=True,
    scopes=[],
    resources=nothing_outside,
    output_schema={"type": "string"},
    examples=[{"data": [{"name": "Alice", "age": 30}, {"name": "Bob", "age": 20}], "columns": ["name", "age"]}],
)
def json_to_csv(data: list[dict[str, Any]], columns: list[str] | None = None) -> str:
    """Write a list of objects as CSV text, with a header. Lists and objects inside become JSON text; null is empty.

    Args:
        data: The rows.
        columns: Which keys, in which order; one that no row has is an empty column. Absent: all of them, sorted.
    """
    if not data:
        return ""
    chosen = sorted({key for row in data for key in row}) if columns is None else columns
    if len(set(chosen)) < len(chosen):
        raise ValueError("columns names a column twice; keep one")
    if len(chosen) * len(data) > MOST_CELLS:
        raise ValueError(f"data is too large as CSV: {len(data)} rows of {len(chosen)} columns; name fewer in columns")
    lines = _Lines()
    # The writer quotes the signs of its own end of lines only, and a bare CR ends one as well.
    # One column whose name has a sign that separates elsewhere would be taken for several when it is read.
    is_like_several = len(chosen) == 1 and any(sign in chosen[0] for sign in _DELIMITERS)
    quoting = csv.QUOTE_ALL if is_like_several else csv.QUOTE_MINIMAL
    writer = csv.writer(lines, lineterminator=_BOTH_ENDS, quoting=quoting)
    writer.writerow(chosen)
    writer.writerows([_text(row.get(key)) for key in chosen] for row in data)
    return "".join(lines.written)


class _Lines:
    """What a writer writes, a line at a time, and with a line feed at its end."""

    def __init__(self) -> None:
        self.written: list[str] = []

    def write(self, line: str) -> None:
        self.written.append(line.removesuffix(_BOTH_ENDS) + "\n")


def _text(value: Any) -> Any:
    if not isinstance(value, (dict, list, bool)):
        return value
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
