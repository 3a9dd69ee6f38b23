"""Houses: a store with the back door open, so that tests can do to its rows what an intruder would."""

import contextlib
import copy
import json
import shutil
import sqlite3
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, cast

from callgate.events.chain import Appender, Row
from callgate.model.canonical import dumps
from callgate.model.event import Draft, payload_digest
from callgate.ports import Checkpoint, Head, Store
from callgate.stores.memory import MemoryStore
from callgate.stores.sqlite import SqliteStore
from tests.contracts.makers import envelope_hash
from tests.events.stories import HandClock

COLUMNS = (
    "id",
    "stream",
    "sequence",
    "type",
    "time",
    "trace",
    "call",
    "producer",
    "severity",
    "causes",
    "payload_digest",
    "previous",
    "hash",
    "payload",
    "salt",
)
ENVELOPE = COLUMNS[:12]

Rows = list[dict[str, Any]]


class House(Protocol):
    """A store, and what can be done to it behind its back."""

    clock: HandClock

    async def open(self) -> Store: ...
    async def close(self) -> None: ...
    async def other_process(self, drafts: list[Draft]) -> str:
        """Another process records something in a stream of its own; the name of that stream."""
        ...

    def rows(self) -> Rows: ...
    def put_rows(self, rows: Rows) -> None: ...
    def checkpoints(self) -> list[Checkpoint]: ...
    def put_checkpoints(self, checkpoints: list[Checkpoint]) -> None: ...
    async def back_up(self) -> None: ...
    async def restore(self) -> Store: ...


@dataclass
class MemoryHouse:
    """The memory store."""

    clock: HandClock
    store: MemoryStore | None = None
    copies: list[Any] = field(default_factory=list[Any])

    @property
    def _log(self) -> Any:
        log = vars(self._opened)["_log"]
        log.settle()
        return log

    @property
    def _tables(self) -> Any:
        return vars(self._opened)["_tables"]

    @property
    def _opened(self) -> MemoryStore:
        assert self.store is not None
        return self.store

    async def open(self) -> Store:
        if self.store is None:
            self.store = MemoryStore(clock=self.clock)
            await self.store.open()
        return self.store

    async def close(self) -> None:
        pass

    async def other_process(self, drafts: list[Draft]) -> str:
        name = f"other-{len(self._log.rows)}"
        payload = {"store_id": self._opened.store_id, "heads": self._heads()}
        opening = Draft(type="stream.opened", time=self.clock.now(), trace=name, payload=payload)
        self._log.rows.extend(Appender(name, producer="callgate").rows([opening, *drafts]))
        return name

    def _heads(self) -> dict[str, Head]:
        return {row[1]: Head(row[2], row[12]) for row in self._log.rows}

    def rows(self) -> Rows:
        return [dict(zip(COLUMNS, row, strict=True)) for row in self._log.rows]

    def put_rows(self, rows: Rows) -> None:
        made: list[Row] = [tuple(row[name] for name in COLUMNS) for row in rows]  # pyright: ignore[reportAssignmentType]
        self._log.rows[:] = made
        # The store asks its appender for its head; one that was opened again would ask the rows.
        heads = [Head(row[2], row[12]) for row in made if row[1] == self._opened.owner]
        self._set_head(heads[-1])

    def believe(self, head: Head) -> None:
        """Let the store take another event for its last."""
        self._set_head(head)

    def _set_head(self, head: Head) -> None:
        self._log.appender._head = self._log.appender._next = head

    def checkpoints(self) -> list[Checkpoint]:
        return list(self._tables.checkpoints.values())

    def put_checkpoints(self, checkpoints: list[Checkpoint]) -> None:
        self._tables.checkpoints = {item.id: item for item in checkpoints}

    async def back_up(self) -> None:
        state = cast("dict[str, Any]", vars(self._tables))
        tables = {name: copy.deepcopy(value) for name, value in state.items() if name != "_undo"}
        self.copies.append((list(self._log.rows), self._log.appender.head, tables))

    async def restore(self) -> Store:
        rows, head, tables = self.copies.pop()
        self._log.rows[:] = rows
        self._set_head(head)
        cast("dict[str, Any]", vars(self._tables)).update(tables)
        return self._opened


@dataclass
class SqliteHouse:
    """The SQLite store, and a second connection to its file."""

    clock: HandClock
    path: Path
    stores: list[SqliteStore] = field(default_factory=list[SqliteStore])

    async def open(self) -> Store:
        if not self.stores:
            await self.another()
        return self.stores[-1]

    async def another(self) -> SqliteStore:
        """Another process with the same file."""
        store = SqliteStore(self.path, clock=self.clock)
        await store.open()
        self.stores.append(store)
        return store

    async def close(self) -> None:
        while self.stores:
            await self.stores.pop().close()

    async def other_process(self, drafts: list[Draft]) -> str:
        other = await self.another()
        await other.write(lambda tx: [tx.append(draft) for draft in drafts])
        await self.stores.pop().close()
        return other.owner

    def rows(self) -> Rows:
        with self._back_door() as db:
            found = db.execute(f"SELECT {', '.join(COLUMNS)} FROM events ORDER BY position").fetchall()
        rows: Rows = [dict[str, Any](zip(COLUMNS, row, strict=True)) for row in found]
        for row in rows:
            row["causes"] = tuple(json.loads(row["causes"])) if row["causes"] else ()
            row["payload"] = row["payload"].encode() if isinstance(row["payload"], str) else row["payload"]
        return rows

    def put_rows(self, rows: Rows) -> None:
        with self._back_door() as db:
            for (trigger,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
                db.execute(f"DROP TRIGGER {trigger}")
            db.execute("DELETE FROM events")
            for position, row in enumerate(rows, start=1):
                values = [_column(name, row[name]) for name in COLUMNS]
                places = ", ".join("?" * (len(COLUMNS) + 1))
                db.execute(
                    f"INSERT INTO events (position, {', '.join(COLUMNS)}) VALUES ({places})", [position, *values]
                )

    def execute(self, *statements: str) -> None:
        """Anything else an intruder may say to the database."""
        with self._back_door() as db:
            for statement in statements:
                db.execute(statement)

    def checkpoints(self) -> list[Checkpoint]:
        with self._back_door() as db:
            found = db.execute("SELECT id, time, stream, heads, key_id, signature FROM checkpoints ORDER BY number")
            return [
                Checkpoint(
                    id=row[0],
                    time=row[1],
                    stream=row[2],
                    heads={name: Head(*head) for name, head in json.loads(row[3]).items()},
                    key_id=row[4],
                    signature=row[5],
                )
                for row in found.fetchall()
            ]

    def put_checkpoints(self, checkpoints: list[Checkpoint]) -> None:
        with self._back_door() as db:
            db.execute("DELETE FROM checkpoints")
            for item in checkpoints:
                values = (item.id, item.time, item.stream, json.dumps(item.heads), item.key_id, item.signature)
                db.execute(
                    "INSERT INTO checkpoints (id, time, stream, heads, key_id, signature) VALUES (?, ?, ?, ?, ?, ?)",
                    values,
                )

    async def back_up(self) -> None:
        with self._back_door() as db, contextlib.closing(sqlite3.connect(self._copy)) as copy_db:
            db.backup(copy_db)

    async def restore(self) -> Store:
        await self.close()
        for rest in ("-wal", "-shm"):
            self.path.with_name(self.path.name + rest).unlink(missing_ok=True)
        shutil.copyfile(self._copy, self.path)
        return await self.open()

    @property
    def _copy(self) -> Path:
        return self.path.with_name("backup.db")

    @contextlib.contextmanager
    def _back_door(self) -> Generator[sqlite3.Connection]:
        with contextlib.closing(sqlite3.connect(self.path)) as db, db:
            yield db


def _column(name: str, value: Any) -> Any:
    if name == "causes":
        return json.dumps(value) if value else None
    if name == "payload" and value is not None:
        with contextlib.suppress(UnicodeDecodeError):
            return value.decode()
    return value


def rehash(rows: Rows, *, stream: str, start: int = 0) -> None:
    """Do what a careful intruder does: make the rest of the stream fit what was changed."""
    mine = sorted((row for row in rows if row["stream"] == stream), key=lambda row: row["sequence"])
    for before, row in zip([None, *mine], mine, strict=False):
        if row["sequence"] >= start:
            if before is not None:
                row["previous"] = before["hash"]
            seal(row)


def seal(row: dict[str, Any]) -> None:
    """Make a row's digest and hash fit what it says."""
    if row["payload"] is not None:
        row["payload_digest"] = payload_digest(row["payload"], row["salt"])
    row["hash"] = envelope_hash({name: row[name] for name in ENVELOPE} | {"causes": list(row["causes"])})


def edit(house: House, change: Callable[[Rows], None]) -> None:
    """Change the rows as a list."""
    rows = house.rows()
    change(rows)
    house.put_rows(rows)


def text(body: dict[str, Any]) -> bytes:
    """A payload as it lies in a row."""
    return dumps(body)
