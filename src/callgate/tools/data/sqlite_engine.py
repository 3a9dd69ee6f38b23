"""SQLite in memory, for one query that only reads: whatever is not reading the given tables is refused by name."""

from __future__ import annotations

import contextlib
import re
import sqlite3
import time
from collections.abc import Callable, Generator, Iterable
from typing import Any

from callgate.tools.data.sql_names import with_names_only
from callgate.tools.data.sql_near import near_column, what_instead
from callgate.tools.data.sql_rows import MOST_ROWS, read_rows
from callgate.tools.data.sql_tables import Table, quoted
from callgate.tools.data.sqlite_printf import Printf

HEAP = 256 * 1024 * 1024
"""Bytes that SQLite may use."""
LONGEST_VALUE = 256 * 1024
"""Bytes. One function call is one step to SQLite, and cannot be stopped: this bounds what it can do."""
_STEPS = 5_000
"""How often the clock is looked at: after so many steps of SQLite's machine, well under a millisecond."""
_LIMITS = {
    sqlite3.SQLITE_LIMIT_LENGTH: LONGEST_VALUE,
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: 100_000,
    sqlite3.SQLITE_LIMIT_COLUMN: 1_000,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 200,
    sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 100,
    sqlite3.SQLITE_LIMIT_VDBE_OP: 250_000,
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 200,
    sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH: 1,
    sqlite3.SQLITE_LIMIT_WORKER_THREADS: 0,
}
_SYSTEM_TABLES = frozenset({"sqlite_master", "sqlite_schema", "json_each", "json_tree"})
_OF_VALUES = (
    "abs char coalesce concat concat_ws format glob hex if ifnull iif instr length like likelihood likely lower ltrim"
    " max min nullif octet_length printf quote random randomblob replace round rtrim sign soundex substr substring"
    " subtype trim typeof unhex unicode unistr unlikely upper zeroblob sqlite_version"
)
_OF_GROUPS = (
    "avg count group_concat string_agg sum total median percentile percentile_cont percentile_disc cume_dist"
    " dense_rank first_value lag last_value lead nth_value ntile percent_rank rank row_number"
)
_OF_DATES = "current_date current_time current_timestamp date datetime julianday strftime time timediff unixepoch"
_OF_NUMBERS = (
    "acos acosh asin asinh atan atan2 atanh ceil ceiling cos cosh degrees exp floor ln log log10 log2 mod pi pow power"
    " radians sin sinh sqrt tan tanh trunc"
)
_OF_JSON = (
    "-> ->> json json_array json_array_insert json_array_length json_error_position json_extract json_group_array"
    " json_group_object json_insert json_object json_patch json_pretty json_quote json_remove json_replace json_set"
    " json_type json_valid jsonb jsonb_array jsonb_extract jsonb_group_array jsonb_group_object jsonb_insert"
    " jsonb_object jsonb_patch jsonb_remove jsonb_replace jsonb_set"
)
_FUNCTIONS = frozenset(f"{_OF_VALUES} {_OF_GROUPS} {_OF_DATES} {_OF_NUMBERS} {_OF_JSON}".split())
_STATEMENTS = (
    "ALTER_TABLE ANALYZE ATTACH CREATE_INDEX CREATE_TABLE CREATE_TEMP_INDEX CREATE_TEMP_TABLE CREATE_TEMP_TRIGGER"
    " CREATE_TEMP_VIEW CREATE_TRIGGER CREATE_VIEW CREATE_VTABLE DELETE DETACH DROP_INDEX DROP_TABLE DROP_TEMP_INDEX"
    " DROP_TEMP_TABLE DROP_TEMP_TRIGGER DROP_TEMP_VIEW DROP_TRIGGER DROP_VIEW DROP_VTABLE INSERT PRAGMA REINDEX"
    " SAVEPOINT TRANSACTION UPDATE"
)
_WORDS = {getattr(sqlite3, f"SQLITE_{name}"): name.replace("_", " ") for name in _STATEMENTS.split()}
_WORDS[sqlite3.SQLITE_ATTACH] = "ATTACH or VACUUM"
_CHANGES = frozenset(_WORDS) - {sqlite3.SQLITE_ATTACH, sqlite3.SQLITE_DETACH, sqlite3.SQLITE_PRAGMA}
_MAKING = "making or changing tables, virtual ones included,"
_READS = re.compile(r"\s*(?:SELECT|VALUES|WITH)\b", re.IGNORECASE)
"""A query that reads makes tables only where it reaches for virtual ones."""


def ask_sqlite(query: str, tables: Iterable[Table], *, seconds: float) -> list[dict[str, Any]]:
    """Answer one query.

    Args:
        query: One statement that reads.
        tables: What it is asked of.
        seconds: How long it may take.

    Raises:
        ValueError: It is no query, changes something, finds too much or takes too long.
        PermissionError: It wants what is not among the tables.
        MemoryError: It needs too much memory.
    """
    with (
        contextlib.closing(sqlite3.connect(":memory:", isolation_level=None, cached_statements=0)) as connection,
        contextlib.closing(Printf(LONGEST_VALUE)) as printf,
    ):
        _set_up(connection)
        printf.offer(connection)
        given = list(tables)
        guard = _Guard(seconds, printf, given=given)
        with _told(guard, query):
            for table in given:
                _create(connection, table)
            # They come to be when they are first used, which looks like a change to the judge.
            connection.execute("SELECT 1 FROM json_each('[]'), json_tree('[]')")
            guard.tables = {table.name.casefold() for table in given} | _SYSTEM_TABLES
            connection.set_authorizer(guard.judge)
            connection.set_progress_handler(guard.late, _STEPS)
            _refuse_mistyped(connection, query, given=given)
            cursor = connection.execute(query)
            if cursor.description is None:
                raise ValueError("query is empty, or gives no rows; write a SELECT")
            found = (row for _, row in zip(range(MOST_ROWS + 1), cursor, strict=False))
            return read_rows([column[0] for column in cursor.description], found)


def _refuse_mistyped(connection: sqlite3.Connection, query: str, *, given: list[Table]) -> None:
    strict = with_names_only(query)
    if strict is None:
        return
    try:
        connection.execute(strict).close()
    except sqlite3.OperationalError as error:
        if not str(error).startswith("no such column"):
            raise
        hint = "in double quotes stands the name of a column, a text goes in single quotes"
        near = near_column(str(error).rpartition(": ")[2].rpartition(".")[2], given)
        raise ValueError(f"query cannot be answered: {error}; {hint}{near}") from None


def _set_up(connection: sqlite3.Connection) -> None:
    for kind, most in _LIMITS.items():
        connection.setlimit(kind, most)
    # Sorting and grouping would otherwise spill into files.
    connection.execute("PRAGMA temp_store = MEMORY")
    connection.execute("PRAGMA trusted_schema = OFF")


def _create(connection: sqlite3.Connection, table: Table) -> None:
    # Without a type, a column keeps each value as it came: 100 stays a number.
    columns = ", ".join(map(quoted, table.columns)) or quoted("")
    connection.execute(f"CREATE TABLE {quoted(table.name)} ({columns})")
    if table.columns:
        marks = ", ".join("?" * len(table.columns))
        connection.executemany(f"INSERT INTO {quoted(table.name)} VALUES ({marks})", table.rows)  # noqa: S608 - quoted


class _Guard:
    """What a query may do, how long it may take, and why it was stopped."""

    def __init__(self, seconds: float, printf: Printf, *, given: list[Table]) -> None:
        self.printf = printf
        self.given = given
        self._until = time.monotonic() + seconds
        self.seconds = seconds
        self.tables: set[str] = set()
        self.refused: str | None = None
        self.is_change = False
        """Whether what was refused first would have changed what is in memory, and reached for nothing else."""
        self.is_late = False

    def late(self) -> bool:
        self.is_late = time.monotonic() > self._until
        return self.is_late

    def judge(self, action: int, *about: str | None) -> int:
        why = self._why_not(action, *(text or "" for text in about))
        if self.refused is None and why is not None:
            self.refused, self.is_change = why, action in _CHANGES
        return sqlite3.SQLITE_OK if why is None else sqlite3.SQLITE_DENY

    def _why_not(self, action: int, *about: str) -> str | None:
        first, second, database, *_ = about
        if action in {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_RECURSIVE}:
            return None
        if action == sqlite3.SQLITE_READ:
            # Without a database it is a name of the query's own (WITH), or only counted.
            return None if not database or first.casefold() in self.tables else f"the table {first}"
        if action == sqlite3.SQLITE_FUNCTION:
            return None if second.casefold() in _FUNCTIONS else f"the function {second}"
        if first.startswith("sqlite_"):
            # To SQLite, making a table is a change of its own list of tables; virtual ones are made when they are used.
            return _MAKING
        return _WORDS.get(action, "this statement")


@contextlib.contextmanager
def _told(guard: _Guard, query: str) -> Generator[None]:
    """SQLite's errors, by what a caller may do about them."""
    try:
        yield
    except (sqlite3.Error, sqlite3.Warning) as error:
        raise _trouble(error, guard, query=query) from None


def _trouble(error: Exception, guard: _Guard, *, query: str) -> Exception:
    if guard.refused is not None:
        what = f"sql_query only reads the tables it is given, in memory: {guard.refused} is not allowed"
        is_change = guard.is_change and not (guard.refused == _MAKING and _READS.match(query))
        return ValueError(f"{what}; write a SELECT") if is_change else PermissionError(what)
    if guard.is_late:
        return ValueError(f"query took longer than {guard.seconds:g} seconds and was stopped; ask for less")
    near = what_instead(str(error), guard.given, functions=_FUNCTIONS)
    return ValueError(f"query cannot be answered: {guard.printf.trouble or f'{error}{near}'}")


def ready() -> Callable[..., list[dict[str, Any]]]:  # pragma: no cover - runs where nobody measures
    """Bound the memory of SQLite in this whole process, which has only one query to answer, and give what does."""
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(f"PRAGMA hard_heap_limit = {HEAP}")
    return ask_sqlite
