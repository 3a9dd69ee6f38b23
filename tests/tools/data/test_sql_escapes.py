"""Ways out of sql_query, each tried against a directory that is looked at from outside. TOOL-06.

None may succeed: nothing in the directory is read, changed or added, and nothing else of the machine is told.
"""

from __future__ import annotations

import hashlib
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from callgate import Callgate
from callgate.model.levels import Category
from callgate.tools import interpreter

REFUSED = {Category.PERMISSION, Category.USER_INPUT}
"""What it says when it says no; a tool that is broken would say something else."""
MARK = "the-witness-was-read"
TABLES = {"users": [{"name": "Alice", "age": 30}]}

SQLITE = {
    "vacuum-into": "VACUUM INTO '{w}/out.db'",
    "vacuum-into-expression": "VACUUM main INTO '{w}/' || 'out.db'",
    "vacuum": "VACUUM",
    "attach-new": "ATTACH '{w}/out.db' AS o",
    "attach-old": "ATTACH '{w}/secret.db' AS o",
    "attach-address": "ATTACH 'file:{w}/out.db?mode=rwc' AS o",
    "attach-then-read": "ATTACH '{w}/secret.db' AS o; SELECT * FROM o.secrets",
    "read-then-attach": "SELECT 1 AS a; ATTACH '{w}/out.db' AS o",
    "explain-attach": "EXPLAIN ATTACH '{w}/out.db' AS o",
    "detach": "DETACH main",
    "pragma-temp-directory": "PRAGMA temp_store_directory = '{w}'",
    "pragma-temp-files": "PRAGMA temp_store = FILE",
    "pragma-journal": "PRAGMA journal_mode = DELETE",
    "pragma-heap": "PRAGMA hard_heap_limit = 0",
    "pragma-writable": "PRAGMA writable_schema = ON",
    "pragma-table": "SELECT * FROM pragma_database_list",
    "pragma-function": "SELECT * FROM pragma_temp_store_directory('{w}')",
    "load-extension": "SELECT load_extension('{w}/evil.so')",
    "load-extension-entry": "SELECT LOAD_EXTENSION('{w}/evil.so', 'main')",
    "readfile": "SELECT readfile('{w}/secret.txt')",
    "writefile": "SELECT writefile('{w}/out.txt', 'x')",
    "edit": "SELECT edit('x', 'touch {w}/out.txt #')",
    "tokenizer": "SELECT fts3_tokenizer('simple', x'0000000000000000')",
    "fsdir": "SELECT * FROM fsdir('{w}')",
    "zipfile": "SELECT * FROM zipfile('{w}/secret.txt')",
    "csv-table": "CREATE VIRTUAL TABLE temp.t USING csv(filename='{w}/secret.csv')",
    "full-text-table": "CREATE VIRTUAL TABLE t USING fts5(a)",
    "temporary-table": "CREATE TEMP TABLE t AS SELECT 1 AS a",
    "table": "CREATE TABLE t AS SELECT 1 AS a",
    "view": "CREATE VIEW v AS SELECT 1 AS a",
    "trigger": "CREATE TRIGGER t AFTER INSERT ON users BEGIN SELECT 1; END",
    "insert": "INSERT INTO users VALUES ('x', 1) RETURNING *",
    "insert-with": "WITH x AS (SELECT 'y' AS a) INSERT INTO users SELECT a, 1 FROM x RETURNING *",
    "update": "UPDATE users SET age = 1 RETURNING *",
    "delete": "DELETE FROM users RETURNING *",
    "drop": "DROP TABLE users",
    "alter": "ALTER TABLE users RENAME TO x",
    "reindex": "REINDEX",
    "analyze": "ANALYZE",
    "begin": "BEGIN",
    "pages": "SELECT * FROM sqlite_dbpage",
    "statements": "SELECT * FROM sqlite_stmt",
    "file-as-database": 'SELECT * FROM "{w}/secret.db".secrets',
    "file-as-table": "SELECT * FROM '{w}/secret.csv'",
    "build-options": "SELECT sqlite_compileoption_get(0)",
}
DUCKDB = {
    "copy-out": "COPY users TO '{w}/out.csv'",
    "copy-query-out": "COPY (SELECT 1) TO '{w}/out.parquet' (FORMAT parquet)",
    "copy-in": "COPY users FROM '{w}/secret.csv'",
    "attach-new": "ATTACH '{w}/out.db' AS o",
    "attach-sqlite": "ATTACH '{w}/secret.db' AS o (TYPE sqlite)",
    "export": "EXPORT DATABASE '{w}/out'",
    "import": "IMPORT DATABASE '{w}'",
    "file-as-table": "SELECT * FROM '{w}/secret.csv'",
    "read-csv": "SELECT * FROM read_csv('{w}/secret.csv')",
    "read-text": "SELECT * FROM read_text('{w}/secret.txt')",
    "read-blob": "SELECT * FROM read_blob('{w}/*')",
    "read-json": "SELECT * FROM read_json('{w}/secret.txt')",
    "read-inside-query": "SELECT * FROM query('SELECT * FROM read_text(''{w}/secret.txt'')')",
    "sniff": "SELECT * FROM sniff_csv('{w}/secret.csv')",
    "glob": "SELECT * FROM glob('{w}/*')",
    "own-names": "SELECT * FROM read_text(':memory:.wal')",
    "own-names-absolute": "SELECT * FROM read_text('{w}/:memory:.wal')",
    "log-to-file": "SELECT * FROM enable_logging(storage := 'file', storage_path := '{w}/out')",
    "call-log-to-file": "CALL enable_logging(storage = 'file', storage_path = '{w}/out')",
    "unlock": "SET lock_configuration = false",
    "external-on": "SET enable_external_access = true",
    "allow-paths": "SET allowed_directories = ['{w}']",
    "temporary-files": "SET temp_directory = '{w}'",
    "profile-to-file": "PRAGMA profiling_output = '{w}/out.json'",
    "explain-analyze-copy": "EXPLAIN ANALYZE COPY users TO '{w}/out.csv'",
    "explain-copy": "EXPLAIN COPY users TO '{w}/out.csv'",
    "explain-read": "EXPLAIN SELECT * FROM read_text('{w}/secret.txt')",
    "pivot-copy": "COPY (PIVOT users ON name USING count(*)) TO '{w}/out.csv'",
    "pivot-values-copy": "COPY (PIVOT users ON name IN ('Alice') USING count(*)) TO '{w}/out.csv'",
    "pivot-file": "PIVOT '{w}/secret.csv' ON a USING count(*)",
    "pivot-values-file": "PIVOT read_csv('{w}/secret.csv') ON a IN ('x') USING count(*)",
    "explain-analyze-insert": "EXPLAIN ANALYZE INSERT INTO users VALUES ('x', 1)",
    "install": "INSTALL httpfs FROM '{w}'",
    "load": "LOAD '{w}/evil.duckdb_extension'",
    "environment": "SELECT getenv('PATH')",
    "variables-of-the-program": "SELECT * FROM question",
    "secret": "CREATE PERSISTENT SECRET s (TYPE s3, KEY_ID 'x')",
    "macro": "CREATE MACRO m() AS TABLE SELECT * FROM read_text('{w}/secret.txt')",
    "insert": "INSERT INTO users VALUES ('x', 1) RETURNING *",
    "insert-with": "WITH x AS (SELECT 1) INSERT INTO users SELECT 'y', 1 FROM x RETURNING *",
    "second-statement": "SELECT 1; COPY users TO '{w}/out.csv'",
    "checkpoint": "CHECKPOINT",
    "prepare": "PREPARE p AS COPY users TO '{w}/out.csv'",
    "web": "SELECT * FROM read_csv('http://127.0.0.1:9/x.csv')",
}


@pytest.fixture
def witness(tmp_path: Path) -> Iterator[Path]:
    """A directory that must be afterwards what it was before."""
    folder = tmp_path / "witness"
    folder.mkdir()
    for name in ("secret.txt", "secret.csv", ":memory:.wal", "evil.so", "evil.duckdb_extension"):
        (folder / name).write_text(f"a\n{MARK}\n")
    with closing(sqlite3.connect(folder / "secret.db")) as database:
        database.execute("CREATE TABLE secrets AS SELECT ? AS text", (MARK,))
        database.commit()
    before = seen(folder)
    yield folder
    assert seen(folder) == before


def seen(folder: Path) -> dict[str, str]:
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.rglob("*") if path.is_file()}


async def attempt(engine: str, query: str, witness: Path) -> Any:
    asked = {"query": query.replace("{w}", str(witness)), "tables": TABLES, "engine": engine}
    async with Callgate.open("memory://", builtin_tools=["sql_query"], working_directory=witness) as gate:
        return await gate.call("sql_query", asked)


@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
async def test_what_is_allowed_works_here(engine: str, witness: Path) -> None:
    """Otherwise the others would prove nothing."""
    assert (await attempt(engine, "SELECT age FROM users", witness)).unwrap() == [{"age": 30}]


@pytest.mark.parametrize("way", SQLITE)
async def test_there_is_no_way_out_of_sqlite(way: str, witness: Path) -> None:
    """TOOL-06: nothing is written or read outside memory."""
    outcome = await attempt("sqlite", SQLITE[way], witness)
    assert outcome.error.category in REFUSED
    assert MARK not in str(outcome.to_machine())


@pytest.mark.parametrize("way", DUCKDB)
async def test_there_is_no_way_out_of_duckdb(way: str, witness: Path) -> None:
    """TOOL-06: as for SQLite."""
    outcome = await attempt("duckdb", DUCKDB[way], witness)
    assert outcome.error.category in REFUSED
    assert MARK not in str(outcome.to_machine())


@pytest.mark.parametrize(
    "action",
    ["open({read!r}).read()", "open({write!r}, 'w')", "socket.socket()", "os.pipe()"],
    ids=["read", "write", "socket", "pipe"],
)
def test_the_process_itself_can_open_nothing(action: str, witness: Path) -> None:
    """The second wall: where an engine would let something through, the system does not."""
    tried = action.format(read=str(witness / "secret.txt"), write=str(witness / "out.txt"))
    code = f"""
import socket, os
from callgate.tools.data.sql_confinement import confine
confine()
try:
    print("did", {tried})
except OSError as error:
    print("refused", error.errno)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert MARK not in done.stdout
    assert done.stdout.startswith("refused")


async def test_nothing_of_the_environment_or_the_working_directory_goes_with_a_query(
    monkeypatch: pytest.MonkeyPatch, witness: Path
) -> None:
    monkeypatch.setenv("CALLGATE_WITNESS", MARK)
    monkeypatch.chdir(witness)
    monkeypatch.setattr(
        interpreter,
        "_CODE",
        "import json, os; print(json.dumps({'rows': [{'environment': sorted(os.environ), 'place': os.getcwd()}]}))",
    )
    [told] = (await attempt("sqlite", "SELECT 1", witness)).unwrap()
    assert "CALLGATE_WITNESS" not in told["environment"]
    assert told["place"] != str(witness)
