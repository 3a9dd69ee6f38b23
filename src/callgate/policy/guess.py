"""Guess: what a text may be that a tool on files is given, where neither the tool nor its schema says.

Any text that a file system could take for a path may be one, whatever the argument is called: it is kept away from
Callgate's own files. One that points somewhere (absolute, climbing, from a home directory), and any under a name that
speaks of files, is confined like a path. What only looks like one is refused with the others: a wrong no says how to
declare what it is, a wrong yes says nothing.
"""

from __future__ import annotations

import enum
import os
import re
from collections.abc import Iterator
from functools import lru_cache
from urllib.parse import unquote

from callgate.policy.survey import Kind, kind_of_word, words_of

LONGEST_PATH = 4096
_LONGEST_PART = 255
"""Bytes; no file system that tools meet has longer names."""
_PARTS = re.compile(r"[/\\]")
_LINE_BREAK = re.compile(r"[\n\r\v\f\x85\u2028\u2029]")
_FILE_URL = re.compile(r"^[\x00-\x20]*file:(?:[/\\]{2}localhost(?=[/\\]))?[/\\]*", re.IGNORECASE)
_FILE_HOST = re.compile(r"^[\x00-\x20]*file:[/\\]{2}[^/\\]+", re.IGNORECASE)
_LEFT_OUT = str.maketrans("", "", "\t\n\r")
"""What parsers of addresses read over."""

_OF_FILES = frozenset(
    {"archive", "attachment", "attachments", "backup", "config", "configuration", "database", "db", "doc", "docs"}
    | {"document", "documents", "download", "dump", "export", "infile", "location", "locations", "log", "logs"}
    | {"notebook", "out", "outfile", "output", "outputs", "save", "upload", "workspace"}
)
_GLUED = ("dir", "directory", "file", "filename", "folder", "path")
_NOT_GLUED = frozenset({"profile"})
_OF_TEXT = frozenset(
    {"answer", "body", "code", "comment", "content", "contents", "csv", "data", "description", "diff", "html", "input"}
    | {"json", "markdown", "message", "note", "notes", "patch", "prompt", "query", "question", "replacement", "script"}
    | {"snippet", "sql", "stdin", "string", "summary", "template", "text", "texts", "value", "xml", "yaml"}
)
_OF_PROGRAMS = frozenset(
    {"args", "argument", "arguments", "argv", "cmd", "code", "command", "commands", "executable", "interpreter"}
    | {"program", "script", "shell"}
)


class Name(enum.Enum):
    """What the name of an argument says of the texts in it."""

    FILES = "files"
    """They have to do with files."""
    TEXT = "text"
    """They are for reading, and may have several lines."""
    PROGRAM = "program"
    """They are what a program is started with."""


@lru_cache(maxsize=4096)
def about(name: str) -> frozenset[Name]:
    """What a name says."""
    words = words_of(name)
    if not words:
        return frozenset()
    programs = {Name.PROGRAM} if not _OF_PROGRAMS.isdisjoint(words) else set[Name]()
    if words[-1] in _OF_TEXT and not any(word.endswith("path") for word in words):
        return frozenset({Name.TEXT} | programs)
    return frozenset(({Name.FILES} if any(map(_speaks_of_files, words)) else set[Name]()) | programs)


def is_for_texts(name: str) -> bool:
    """Whether an argument of this name is for reading."""
    return Name.TEXT in about(name)


def starts_programs(name: str) -> bool:
    """Whether an argument of this name is what a program is started with."""
    return Name.PROGRAM in about(name)


def _speaks_of_files(word: str) -> bool:
    if word in _OF_FILES or kind_of_word(word) in {Kind.PATH, Kind.PLACE}:
        return True
    return word.endswith(_GLUED) and word not in _NOT_GLUED


def may_be_path(name: str, text: str) -> bool:
    """Whether some tool could open this: no text of several lines under a name for texts, nor what no system takes."""
    if not text or len(text) > LONGEST_PATH or "\0" in text:
        return False
    if Name.TEXT in about(name) and _LINE_BREAK.search(text):
        return False
    return all(len(part.encode(errors="replace")) <= _LONGEST_PART for part in text.split("/"))


def is_to_be_confined(name: str, text: str, *, runs_programs: bool) -> bool:
    """Whether a text that may be a path is to lie where the tool's paths may."""
    said = about(name)
    if runs_programs and Name.PROGRAM in said:
        # A command line says nothing by its first letter; who may run programs at all is decided elsewhere.
        return False
    return points_somewhere(text) or (Name.FILES in said and not _LINE_BREAK.search(text.strip()))


def points_somewhere(text: str) -> bool:
    """Whether it names a place by itself: absolute, climbing, from a home directory, as a file's address."""
    bare = text.strip()
    if os.path.isabs(bare) or (".." in bare and ".." in _PARTS.split(bare)):  # noqa: PTH117 - a text all along
        return True
    if ":" in bare and _is_file_address(bare):
        return True
    return bare.startswith("~") and os.path.expanduser(bare) != bare  # noqa: PTH111


def spellings(text: str) -> Iterator[str]:
    """The paths that tools may make of it: as it is, trimmed, from the home directory, out of an address."""
    yield text
    bare = text.strip()
    if bare != text:
        yield bare
    if bare.startswith("~"):
        yield os.path.expanduser(bare)  # noqa: PTH111 - a text all along
    if "%" in bare or _FILE_URL.match(bare):
        yield unquote(_FILE_URL.sub("/", bare))
    if ":" in bare and _is_file_address(bare):
        # Some take a backslash for a slash, and some read over the host.
        address = bare.translate(_LEFT_OUT)
        yield unquote(_FILE_URL.sub("/", address)).replace("\\", "/")
        if _FILE_HOST.match(address):
            yield unquote(_FILE_HOST.sub("", address)).replace("\\", "/") or "/"


def _is_file_address(text: str) -> bool:
    return _FILE_URL.match(text.translate(_LEFT_OUT)) is not None
