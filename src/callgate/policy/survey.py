"""Survey: what a tool's input schema says about its arguments: their names, their formats, and what else it takes.

Reads references inside the schema only, and each part of it once.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, cast


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

_WITHIN = ("items", "contains", "not", "if", "then", "else", "additionalItems", "unevaluatedItems", "propertyNames")
_WITHIN_EACH = ("allOf", "anyOf", "oneOf", "prefixItems")
_VALUES = ("additionalProperties", "unevaluatedProperties")
_SAYS_TYPE_ELSEWHERE = frozenset({"$ref", "allOf", "anyOf", "oneOf", "enum", "const"})
_UNSAID = ""
"""Stands among the formats of a name that is somewhere a plain text, or anything."""

_ANYTHING: dict[str, Any] = {}
"""What the schema `true` means."""

_Book = dict[str, set[str]]


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
    settled: frozenset[str]
    """Names whose every text has a format, so that the name itself says nothing more."""
    settled_values: frozenset[str]
    """Names of mappings whose every value that is a text has a format."""
    untold: bool
    """Whether some text has no format."""
    open: bool
    """Whether arguments may have names that the schema does not."""


def survey(schema: dict[str, Any]) -> Survey:
    """Read a schema."""
    reader = _Reader(schema)
    return Survey(
        names=frozenset(reader.names) - {_UNSAID},
        formats=_kinds(reader.names),
        values=_kinds(reader.mapped),
        settled=_settled(reader.names),
        settled_values=_settled(reader.mapped),
        untold=any(_UNSAID in formats for book in (reader.names, reader.mapped) for formats in book.values()),
        open=reader.open,
    )


def _kinds(book: _Book) -> dict[str, frozenset[Kind]]:
    known = {
        name: frozenset(_FORMATS[given] for given in formats if given in _FORMATS) for name, formats in book.items()
    }
    return {name: kinds for name, kinds in known.items() if kinds}


def _settled(book: _Book) -> frozenset[str]:
    return frozenset(name for name, formats in book.items() if formats and _UNSAID not in formats)


class _Reader:
    def __init__(self, root: dict[str, Any]) -> None:
        self._root = root
        self.names: _Book = {}
        self.mapped: _Book = {}
        self.open = False
        seen: set[tuple[int, str, int]] = set()
        pending: list[tuple[Any, str, _Book]] = [(root, "", self.names)]
        while pending:
            node, name, book = pending.pop()
            node = _ANYTHING if node is True else node
            mark = (id(node), name, id(book))
            if isinstance(node, dict) and mark not in seen:
                seen.add(mark)
                self._read(cast("dict[str, Any]", node), name, book=book)
                pending.extend(self._below(cast("dict[str, Any]", node), name, book=book))

    def _read(self, node: dict[str, Any], name: str, *, book: _Book) -> None:
        formats = book.setdefault(name, set())
        given, kind = node.get("format"), node.get("type")
        if isinstance(given, str):
            formats.add(given.lower())
        elif _may_be(kind, "string") and (kind is not None or not _SAYS_TYPE_ELSEWHERE & node.keys()):
            formats.add(_UNSAID)
        if kind is not None and _may_be(kind, "array") and "items" not in node:
            formats.add(_UNSAID)
        closed = node.get("additionalProperties") is False or node.get("unevaluatedProperties") is False
        is_mapping = "properties" in node or (kind is not None and _may_be(kind, "object")) or not node
        self.open |= (is_mapping and not closed) or "patternProperties" in node

    def _below(self, node: dict[str, Any], name: str, *, book: _Book) -> Iterator[tuple[Any, str, _Book]]:
        yield from ((sub, inner, self.names) for inner, sub in _mapping(node.get("properties")).items())
        yield from ((sub, name, self.mapped) for sub in _mapping(node.get("patternProperties")).values())
        yield from ((sub, name, book) for sub in _mapping(node.get("dependentSchemas")).values())
        for key in _WITHIN:
            yield node.get(key), name, book
        for key in _VALUES:
            yield node.get(key), name, self.mapped
        for key in _WITHIN_EACH:
            parts = node.get(key)
            yield from ((sub, name, book) for sub in (cast("list[Any]", parts) if isinstance(parts, list) else ()))
        yield self._referred(node.get("$ref")), name, book

    def _referred(self, reference: Any) -> Any:
        if not isinstance(reference, str) or not reference.startswith("#/"):
            return self._root if reference == "#" else None
        node: Any = self._root
        for part in reference.removeprefix("#/").split("/"):
            node = _mapping(node).get(part.replace("~1", "/").replace("~0", "~"))
        return node


def _may_be(kind: Any, wanted: str) -> bool:
    return kind is None or kind == wanted or (isinstance(kind, list) and wanted in kind)


def _mapping(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}
