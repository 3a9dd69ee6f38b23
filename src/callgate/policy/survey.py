"""Survey: what a tool's input schema says about its arguments: their names, their formats, and what else it takes.

A format that an author gives is believed of the texts that have it: see `formats`.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from callgate.policy.schema_reader import UNSAID, Book, Reader


class Kind(enum.Enum):
    """What an argument names."""

    PATH = "path"
    PLACE = "place"
    """A path that others of the same call may be relative to."""
    PATTERN = "pattern"
    HOST = "host"
    TEXT = "text"
    """Something that may be a path, though nobody says so."""


_FORMATS: Mapping[str, Kind] = {
    "path": Kind.PLACE,
    "file-path": Kind.PATH,
    "directory-path": Kind.PLACE,
    "glob": Kind.PATTERN,
    **dict.fromkeys(("uri", "url", "iri", "uri-reference", "iri-reference", "multi-host-uri"), Kind.HOST),
    **dict.fromkeys(("host", "hostname", "idn-hostname", "ipv4", "ipv6", "ipvanyaddress"), Kind.HOST),
    **dict.fromkeys(("ipv4interface", "ipv6interface", "ipvanyinterface"), Kind.HOST),
    **dict.fromkeys(("ipv4network", "ipv6network", "ipvanynetwork"), Kind.HOST),
}
_WORDS: Mapping[str, Kind] = {
    **dict.fromkeys(("file", "files", "filename", "filenames", "filepath", "filepaths"), Kind.PATH),
    **dict.fromkeys(("pathname", "paths", "src", "dst", "dest", "destination", "source", "target"), Kind.PATH),
    **dict.fromkeys(("path", "dir", "dirs", "directory", "directories", "dirname"), Kind.PLACE),
    **dict.fromkeys(("folder", "folders", "cwd", "workdir", "root"), Kind.PLACE),
    **dict.fromkeys(("glob", "globs", "pattern", "patterns", "include", "exclude"), Kind.PATTERN),
    **dict.fromkeys(("url", "urls", "uri", "uris", "href", "webhook", "webhooks"), Kind.HOST),
    **dict.fromkeys(("host", "hosts", "hostname", "hostnames", "endpoint", "endpoints"), Kind.HOST),
}
_SURROUNDINGS = frozenset({"cwd", "workdir", "working", "root", "base", "repo", "repository", "project"})
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


@lru_cache(maxsize=4096)
def kind_of_name(name: str) -> Kind | None:
    """What an argument of this name usually is."""
    words = words_of(name)
    return kind_of_word(words[-1]) if words else None


def kind_of_word(word: str) -> Kind | None:
    """What a word at the end of a name usually says."""
    return _WORDS.get(word)


def words_of(name: str) -> tuple[str, ...]:
    """The words of a name, in lower case, however they are joined."""
    return tuple(word.lower() for word in _WORD.findall(name))


@lru_cache(maxsize=4096)
def is_surroundings(name: str) -> bool:
    """Whether an argument of this name says where work is done, rather than what it is done to."""
    words = words_of(name)
    return bool(words) and words[0] in _SURROUNDINGS


@dataclass(frozen=True, slots=True)
class Survey:
    """What a schema says."""

    names: frozenset[str]
    formats: Mapping[str, frozenset[Kind]]
    """By name: what its format says it is."""
    values: Mapping[str, frozenset[Kind]]
    """By name: what the values of that mapping are."""
    settled: Mapping[str, frozenset[str]]
    """Names whose every text has a format, so that the name itself says nothing more, with these formats."""
    settled_values: Mapping[str, frozenset[str]]
    """Names of mappings whose every value that is a text has a format."""
    untold: bool
    """Whether some text has no format."""
    open: bool
    """Whether arguments may have names that the schema does not."""


def survey(schema: dict[str, Any]) -> Survey:
    """Read a schema. What cannot be followed in it may hold anything."""
    reader = Reader(schema)
    loose = reader.loose()
    return Survey(
        names=frozenset(reader.names) - {""},
        formats=_kinds(reader.names),
        values=_kinds(reader.mapped),
        settled=_settled(reader.names, loose),
        settled_values=_settled(reader.mapped, loose),
        untold=any(UNSAID in formats for book in (reader.names, reader.mapped) for formats in book.values()),
        open=reader.open,
    )


def _kinds(book: Book) -> dict[str, frozenset[Kind]]:
    known = {
        name: frozenset(_FORMATS[given] for given in formats if given in _FORMATS) for name, formats in book.items()
    }
    return {name: kinds for name, kinds in known.items() if kinds}


def _settled(book: Book, loose: list[frozenset[str]]) -> dict[str, frozenset[str]]:
    # A name that stands in some object is settled there; the same one may come to another that takes any name.
    return {
        name: frozenset(formats)
        for name, formats in book.items()
        if formats and UNSAID not in formats and all(name in names for names in loose)
    }
