"""DuckDB in memory, for one query that only reads: everything outside is switched off, and the switches are locked."""

from __future__ import annotations

import contextlib
import re
import threading
from collections.abc import Callable, Generator, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import duckdb

from callgate.tools.data.duckdb_texts import columns_with_texts
from callgate.tools.data.sql_rows import MOST_ROWS, read_rows
from callgate.tools.data.sql_tables import Table, quoted

_CONFIGURATION: dict[str, Any] = {
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "allow_unsigned_extensions": "false",
    "allow_persistent_secrets": "false",
    # Otherwise a table that is not there is looked for among the variables of this very program.
    "python_enable_replacements": "false",
    "memory_limit": "256MB",
    "temp_directory": "",
    "threads": "1",
}
_NUMBERS = frozenset({int, float})
_KINDS = {
    frozenset[type](): "VARCHAR",
    frozenset({bool}): "BOOLEAN",
    frozenset({int}): "BIGINT",
    frozenset({float}): "DOUBLE",
    _NUMBERS: "DOUBLE",
    frozenset({str}): "VARCHAR",
}
_TRACES = "Traceback (most recent call last)", "Stack Trace:"
"""What begins a part of an error that is about this program, and not about the query."""
_LACKING = re.compile(r"exists in the \w+ extension\.\s+(?P<advice>Please try installing and loading.*)", re.DOTALL)
"""What DuckDB advises of what is not in it; nobody may follow that here."""
_PLACES = tuple(Path(file).parents[up] for file, up in ((__file__, 3), (duckdb.__file__, 1)))
_PLACE = re.compile(f"(?:{'|'.join(re.escape(str(place)) for place in _PLACES)})[^\\s'\"]*")

_CHANGES = frozenset({"ALTER", "CREATE", "DELETE", "DROP", "INSERT", "MERGE_INTO", "TRANSACTION", "UPDATE"})
"""Statements that reach for nothing but what is in memory."""
_UNANSWERED = {
    # An EXPLAIN ANALYZE runs what it explains, whatever that is.
    "EXPLAIN": "EXPLAIN is answered by the engine sqlite only; write the SELECT itself",
    # One that looks for the values first is several statements, and one of them makes a type.
    "MULTI": "PIVOT is answered where the values are named: PIVOT t ON a IN ('x', 'y') USING count(*)",
}
"""Statements that may only read, and what to write instead; what is written then is judged as any other."""


def ready() -> Callable[..., list[dict[str, Any]]]:
    """Open the engine, which looks around in the system once, and give what then answers one query."""
    connection = duckdb.connect("", config=_CONFIGURATION)
    # Files that are called like the database itself would otherwise be allowed.
    connection.execute("SET disabled_filesystems = 'LocalFileSystem'")
    # Drawn for whoever sits at a terminal, and nobody does.
    connection.execute("SET enable_progress_bar = false")
    # Otherwise what a query finds depends on where it is asked. Builds without time zones have UTC only.
    with contextlib.suppress(duckdb.CatalogException):
        connection.execute("SET TimeZone = 'UTC'")
    connection.execute("SET lock_configuration = true")
    return partial(ask_duckdb, connection=connection)


def ask_duckdb(
    query: str, tables: Iterable[Table], *, seconds: float, connection: duckdb.DuckDBPyConnection
) -> list[dict[str, Any]]:
    """Answer one query, and close the connection; as `ask_sqlite`.

    Raises:
        ValueError: It is no query, changes something, a column mixes types, it finds too much or takes too long.
        PermissionError: It wants what is not among the tables.
        MemoryError: It needs too much memory.
    """
    late = threading.Event()
    with contextlib.closing(connection), _told(late, seconds), _interrupted(connection, late, seconds=seconds):
        for table in tables:
            _create(connection, table)
        return _answered(connection, _only_statement(connection, query))


def _answered(connection: duckdb.DuckDBPyConnection, statement: duckdb.Statement) -> list[dict[str, Any]]:
    # Only bound here, which tells the types.
    bound = connection.sql(statement)
    columns = columns_with_texts(bound.types)
    # The query stays on its lines: errors name them.
    asked = statement if columns is None else f"FROM ({bound.sql_query()}\n) SELECT {columns}"
    return read_rows(bound.columns, connection.execute(asked).fetchmany(MOST_ROWS + 1))


def _create(connection: duckdb.DuckDBPyConnection, table: Table) -> None:
    kinds = [_kind(table, at) for at in range(len(table.columns))]
    columns = ", ".join(f"{quoted(name)} {kind}" for name, kind in zip(table.columns, kinds, strict=True))
    connection.execute(f"CREATE TABLE {quoted(table.name)} ({columns or quoted(' ') + ' VARCHAR'})")
    if table.rows and table.columns:
        # A column at a time: row by row it would take seconds.
        lists = ", ".join(f"unnest(CAST(? AS {kind}[]))" for kind in kinds)
        values = [list(column) for column in zip(*table.rows, strict=True)]
        connection.execute(f"INSERT INTO {quoted(table.name)} SELECT {lists}", values)


def _kind(table: Table, at: int) -> str:
    kinds = frozenset(map(_type_of, (row[at] for row in table.rows if row[at] is not None)))
    if kinds not in _KINDS:
        words = " and ".join(sorted(kind.__name__ for kind in kinds))
        raise ValueError(
            f"tables.{table.name}.{table.columns[at]} mixes {words}, and DuckDB wants one type in a column;"
            " make them alike, or use the engine sqlite"
        )
    if kinds == _NUMBERS:
        _need_floats(table, at)
    return _KINDS[kinds]


def _need_floats(table: Table, at: int) -> None:
    """Refuse whole numbers that would be others as a float, which they become beside decimals."""
    changed = next((row[at] for row in table.rows if isinstance(row[at], int) and float(row[at]) != row[at]), None)
    if changed is not None:
        raise ValueError(
            f"tables.{table.name}.{table.columns[at]} has {changed} beside decimals, and DuckDB wants one type in a"
            " column: no float has all its digits; make them alike, give them as text, or use the engine sqlite"
        )


def _type_of(value: object) -> type[object]:
    return type(value)


def _only_statement(connection: duckdb.DuckDBPyConnection, query: str) -> duckdb.Statement:
    statements = connection.extract_statements(query)
    if len(statements) != 1:
        raise ValueError(f"query has {len(statements)} statements; give one")
    kind = statements[0].type.name
    if kind in _UNANSWERED:
        raise ValueError(f"query cannot be answered: {_UNANSWERED[kind]}")
    if kind != "SELECT":
        what = f"sql_query only reads the tables it is given, in memory: {kind} is not allowed"
        raise ValueError(f"{what}; write a SELECT") if kind in _CHANGES else PermissionError(what)
    return statements[0]


@contextlib.contextmanager
def _interrupted(connection: duckdb.DuckDBPyConnection, late: threading.Event, *, seconds: float) -> Generator[None]:
    def stop() -> None:
        late.set()
        connection.interrupt()

    timer = threading.Timer(seconds, stop)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()


@contextlib.contextmanager
def _told(late: threading.Event, seconds: float) -> Generator[None]:
    """DuckDB's errors, by what a caller may do about them; they show nothing of where it runs."""
    try:
        yield
    except duckdb.OutOfMemoryException:
        raise MemoryError("query needs too much memory; ask for less") from None
    except duckdb.Error as error:
        raise _trouble(error, late, seconds=seconds) from None


def _trouble(error: duckdb.Error, late: threading.Event, *, seconds: float) -> Exception:
    if late.is_set():
        return ValueError(f"query took longer than {seconds:g} seconds and was stopped; ask for less")
    if isinstance(error, duckdb.PermissionException) or "configuration has been locked" in str(error):
        return PermissionError("sql_query only reads the tables it is given, in memory: nothing outside can be reached")
    return ValueError(f"query cannot be answered: {_of_the_query(str(error))}")


def _of_the_query(text: str) -> str:
    for trace in _TRACES:
        text = text.partition(trace)[0]
    lacking = _LACKING.search(text)
    if lacking is not None:
        text = (
            f"{text[: lacking.start('advice')].strip()} No extensions can be loaded here; use what is in DuckDB itself."
        )
    return _PLACE.sub("…", text).strip()
