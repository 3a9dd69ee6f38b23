"""NoteIndex: finds notes by words, by name, and by what they point at. It is told of changes, and reads no files."""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from callgate.tools.index_files import transaction
from callgate.tools.vault.describing import MOST_OF_BODY, Description, Title, summary_of
from callgate.tools.vault.index_file import IndexFile
from callgate.tools.vault.names import key_of
from callgate.tools.vault.sight import Stamp
from callgate.tools.vault.snippets import told

_MOST_WORDS = 32
_SHORTEST_BEGINNING = 3
_AT_ONCE = 500
_FOUND = """
SELECT notes.id, notes.path, notes.title, notes.is_heading, snippet(words, 3, char(2), char(3), char(4), 24), rank
FROM words JOIN notes ON notes.id = words.rowid
WHERE words MATCH ? ORDER BY rank, notes.path LIMIT ?
"""
_CONTAINS = """
SELECT notes.id, notes.path, notes.title, notes.is_heading,
    substr(words.body, max(1, instr(lower(words.body), ?1) - 80), 200), 0.0
FROM words JOIN notes ON notes.id = words.rowid
WHERE instr(lower(words.title), ?1) OR instr(lower(words.body), ?1) ORDER BY notes.path LIMIT ?2
"""
_BELOW = """
SELECT path, title, is_heading, size, changed,
    CASE WHEN ?4 THEN (SELECT substr(body, 1, ?4) FROM words WHERE rowid = notes.id) ELSE '' END
FROM notes WHERE substr(path, 1, ?1) = ?2 ORDER BY path LIMIT ?3
"""


@dataclass(frozen=True, slots=True)
class Indexed:
    """A note to be kept: what it says, or only its new stamp where it says what it said."""

    path: str
    stamp: Stamp
    size: int
    changed: int
    """Nanoseconds."""
    digest: str
    description: Description | None


@dataclass(frozen=True, slots=True)
class Hit:
    """A note that was found."""

    path: str
    title: str
    snippet: str
    score: float
    """Higher is better."""


@dataclass(frozen=True, slots=True)
class Listed:
    """A note as a list has it."""

    path: str
    title: str
    size: int
    changed: int
    """Nanoseconds."""
    summary: str
    """Empty where nobody asked for it."""


class NoteIndex:
    """The index of one project's notes."""

    def __init__(self, place: Path | None) -> None:
        self._file = IndexFile(place)
        self._known: tuple[str, dict[str, Stamp]] | None = None

    def generation(self) -> str:
        """Differs after every change, whoever made it, and where the index was made again."""

        def look(connection: sqlite3.Connection) -> str:
            return connection.execute("SELECT generation FROM state").fetchone()[0]

        return self._file.look(look)

    def known(self) -> dict[str, Stamp]:
        """Every note it knows, as it was when it was read; for one at a time, until the next change."""

        def look(connection: sqlite3.Connection) -> dict[str, Stamp]:
            generation: str = connection.execute("SELECT generation FROM state").fetchone()[0]
            if self._known is None or self._known[0] != generation:
                rows = connection.execute("SELECT path, stamp FROM notes")
                self._known = generation, dict(rows)
            return self._known[1]

        return self._file.look(look)

    def digests(self, paths: Iterable[str]) -> dict[str, str]:
        """The content of these notes when they were read."""
        wanted = list(paths)

        def look(connection: sqlite3.Connection) -> dict[str, str]:
            return dict(_in_parts(connection, "SELECT path, digest FROM notes WHERE path IN ({})", values=wanted))

        return self._file.look(look)

    def change(self, notes: Iterable[Indexed], gone: Iterable[str]) -> None:
        """Take in what is new or changed, and let go what is gone; all of it or nothing."""
        changed, removed, generation = list(notes), list(gone), secrets.token_hex(8)

        def write(connection: sqlite3.Connection) -> str:
            with transaction(connection):
                before: str = connection.execute("SELECT generation FROM state").fetchone()[0]
                for path in removed:
                    _remove(connection, path)
                for note in changed:
                    _put(connection, note)
                connection.execute("UPDATE state SET generation = ?", (generation,))
            return before

        before = self._file.use(write)
        if self._known is not None and self._known[0] == before:
            stamps = self._known[1]
            for path in removed:
                stamps.pop(path, None)
            stamps.update((note.path, note.stamp) for note in changed)
            self._known = generation, stamps

    def rest(self) -> None:
        """Let go of what it holds open; the next use opens it again."""
        self._file.rest()

    def search(self, query: str, limit: int) -> list[Hit]:
        """The notes that have all words of a query, best first; where there are none, those that have any.

        A query is words and "phrases in quotes", and nothing in it is an operator.
        """
        words = _phrases(query)

        def look(connection: sqlite3.Connection) -> list[Any]:
            for match in _matches(words):
                if found := connection.execute(_FOUND, (match, limit)).fetchall():
                    return found
            return connection.execute(_CONTAINS, (query.strip().lower(), limit)).fetchall() if query.strip() else []

        def tell(connection: sqlite3.Connection) -> list[Hit]:
            return [
                Hit(path, Title(*title).shown, told(_body(connection, note), piece), round(-rank, 6))
                for note, path, *title, piece, rank in look(connection)
            ]

        return self._file.look(tell)

    def below(self, folder: str, limit: int, *, summaries: bool = False) -> list[Listed]:
        """The notes in a folder and those below it, by path."""
        prefix = f"{folder}/" if folder else ""

        def tell(connection: sqlite3.Connection) -> list[Listed]:
            found = connection.execute(_BELOW, (len(prefix), prefix, limit, MOST_OF_BODY if summaries else 0))
            return [
                Listed(path, Title(*title).shown, size, changed, summary_of(body))
                for path, *title, size, changed, body in found
            ]

        return self._file.look(tell)

    def named(self, keys: Iterable[str]) -> dict[str, list[str]]:
        """By key: the paths of all notes that share it."""
        wanted = list(keys)
        found: dict[str, list[str]] = {key: [] for key in wanted}

        def look(connection: sqlite3.Connection) -> list[tuple[str, str]]:
            return _in_parts(connection, "SELECT path, key FROM notes WHERE key IN ({})", values=wanted)

        for path, key in self._file.look(look):
            found[key].append(path)
        return found

    def pointing_at(self, keys: Iterable[str]) -> list[str]:
        """The notes that have a link to one of these names, and those that have too many to know."""
        wanted = list(keys)

        def look(connection: sqlite3.Connection) -> list[str]:
            rows = _in_parts(
                connection,
                "SELECT path, 0 FROM notes JOIN links ON links.note = notes.id WHERE links.key IN ({})",
                values=wanted,
            )
            many = connection.execute("SELECT path, 0 FROM notes WHERE many").fetchall()
            return sorted({path for path, _ in (*rows, *many)})

        return self._file.look(look)


def _body(connection: sqlite3.Connection, note: int) -> str:
    return connection.execute("SELECT body FROM words WHERE rowid = ?", (note,)).fetchone()[0]


def _remove(connection: sqlite3.Connection, path: str) -> None:
    row = connection.execute("DELETE FROM notes WHERE path = ? RETURNING id", (path,)).fetchone()
    if row is not None:
        connection.execute("DELETE FROM words WHERE rowid = ?", row)
        connection.execute("DELETE FROM links WHERE note = ?", row)


def _put(connection: sqlite3.Connection, note: Indexed) -> None:
    told = note.description
    if told is None:
        connection.execute(
            "UPDATE notes SET stamp = ?, size = ?, changed = ? WHERE path = ?",
            (note.stamp, note.size, note.changed, note.path),
        )
        return
    _remove(connection, note.path)
    row = connection.execute(
        "INSERT INTO notes (path, key, stamp, size, changed, digest, title, is_heading, many)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id",
        (
            note.path,
            key_of(note.path),
            note.stamp,
            note.size,
            note.changed,
            note.digest,
            told.title.text,
            told.title.is_heading,
            told.many,
        ),
    ).fetchone()
    connection.execute(
        "INSERT INTO words (rowid, title, headings, tags, body) VALUES (?, ?, ?, ?, ?)",
        (*row, told.title.plain, told.headings, told.tags, told.body),
    )
    connection.executemany("INSERT INTO links VALUES (?, ?)", ((key, *row) for key in told.keys))


def _in_parts(connection: sqlite3.Connection, statement: str, *, values: list[str]) -> list[tuple[str, Any]]:
    """The rows for a list of values, a few hundred at a time."""
    rows: list[tuple[str, Any]] = []
    for at in range(0, len(values), _AT_ONCE):
        part = values[at : at + _AT_ONCE]
        rows += connection.execute(statement.format(", ".join("?" * len(part))), part)
    return rows


def _phrases(query: str) -> list[str]:
    """The words of a query and its phrases in quotes; what has no letter or digit in it cannot be looked up."""
    found: list[str] = []
    for at, piece in enumerate(query.replace("\0", " ").encode("utf-8", "replace").decode().split('"')):
        found += [piece] if at % 2 else piece.split()
    return [phrase for phrase in found if any(letter.isalnum() for letter in phrase)][:_MOST_WORDS]


def _matches(phrases: list[str]) -> Iterable[str]:
    """What FTS5 is asked, one after the other, until it finds something."""
    if not phrases:
        return
    quoted = [f'"{phrase}"' for phrase in phrases]
    yield " AND ".join(quoted)
    begun = [f"{text} *" if len(text) > _SHORTEST_BEGINNING + 1 else text for text in quoted]
    yield " OR ".join(begun)
