"""What is near a name that SQLite does not know: of the tables and columns of the call, or of SQLite's own functions.

It knows names only, and nothing of what is in the tables.
"""

from __future__ import annotations

import contextlib
import re
import sqlite3
from collections.abc import Iterable
from types import MappingProxyType

from callgate.model.nearest import nearest
from callgate.model.visible import brief
from callgate.tools.data.sql_tables import Table

_UNKNOWN = re.compile(r"no such (table|column|function): (.+)", re.DOTALL)
_LISTED = 12
_NOW = "datetime('now')"
_PART = "strftime('%Y-%m-%d', …), with %Y, %m or %d alone for a part"
_MEAN = "FROM t, (SELECT avg(x) AS m FROM t)"
"""Squares of what is left without the mean: those of the values themselves cancel each other out."""
_OF_A_SAMPLE = "{} " + _MEAN + ", which is that of a sample; the engine duckdb has stddev and var_samp"
_OF_ALL = "{} " + _MEAN + ", which is that of a whole population; the engine duckdb has stddev_pop and var_pop"
_SAMPLE, _ALL = "sum((x - m)*(x - m))/(count(x) - 1)", "avg((x - m)*(x - m))"
MEANT = MappingProxyType(
    {
        "datediff": "julianday(later) - julianday(earlier), in days",
        **dict.fromkeys(("dateadd", "date_add", "adddate"), "date(…, '+1 day')"),
        **dict.fromkeys(("date_sub", "subdate"), "date(…, '-1 day')"),
        **dict.fromkeys(("now", "getdate", "sysdate"), _NOW),
        **dict.fromkeys(("curdate", "today"), "date('now')"),
        **dict.fromkeys(("year", "month", "day", "date_part", "date_format", "to_char"), _PART),
        "date_trunc": "strftime('%Y-%m-01', …) for a month",
        "to_date": "date(…)",
        **dict.fromkeys(("len", "char_length", "character_length"), "length(…)"),
        "nvl": "ifnull(…, …)",
        **dict.fromkeys(("charindex", "strpos", "position", "locate"), "instr(text, part)"),
        "mid": "substr(text, from, length)",
        "ucase": "upper(…)",
        "lcase": "lower(…)",
        "greatest": "max(…, …)",
        "least": "min(…, …)",
        "array_agg": "json_group_array(…)",
        "lpad": "printf('%!10s', …), or printf('%05d', …) for zeros before a number",
        "rpad": "printf('%-!10s', …)",
        **dict.fromkeys(("stddev", "stdev", "stddev_samp"), _OF_A_SAMPLE.format(f"sqrt({_SAMPLE})")),
        "stddev_pop": _OF_ALL.format(f"sqrt({_ALL})"),
        **dict.fromkeys(("variance", "var_samp"), _OF_A_SAMPLE.format(_SAMPLE)),
        "var_pop": _OF_ALL.format(_ALL),
        **dict.fromkeys(("regexp", "regexp_like", "regexp_matches"), "… LIKE 'a%' or … GLOB 'a[0-9]*'"),
    }
)
"""Functions of other databases, and what to write instead. SQLite's own words, as right, are errors before it asks."""


def what_instead(trouble: str, tables: Iterable[Table], *, functions: frozenset[str]) -> str:
    """What to write instead of a name that is not there, as the end of what SQLite says; empty of other troubles.

    Args:
        trouble: What SQLite says.
        tables: What the query is asked of.
        functions: Those that a query may call.
    """
    unknown = _UNKNOWN.fullmatch(trouble)
    if unknown is None:
        return ""
    kind, name = unknown[1], unknown[2].rpartition(".")[2]
    if kind == "function":
        return _function(name, functions)
    if kind == "table":
        return _listed(name, [table.name for table in tables], kind="tables")
    return _listed(name, list(dict.fromkeys(column for table in tables for column in table.columns)), kind="columns")


def near_column(name: str, tables: Iterable[Table]) -> str:
    """The column that may be meant by a name, as the end of a sentence; empty where there is none."""
    return _guess(name, (column for table in tables for column in table.columns))


def _listed(name: str, known: list[str], *, kind: str) -> str:
    guess = _guess(name, known)
    if guess:
        return guess
    if not known:
        return f"; the call gives no {kind}"
    return f"; {kind} here: {', '.join(map(brief, known[:_LISTED]))}{', …' if len(known) > _LISTED else ''}"


def _function(name: str, functions: frozenset[str]) -> str:
    written = MEANT.get(name.casefold())
    if written:
        return f"; in SQLite write {written}"
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        here = {row[0] for row in connection.execute("SELECT name FROM pragma_function_list")}
    return _guess(name, sorted(functions & here)) or "; use one of SQLite's own functions, or the engine duckdb"


def _guess(name: str, known: Iterable[str]) -> str:
    meant = nearest(name, known)
    return f"; did you mean {brief(meant)}?" if meant else ""
