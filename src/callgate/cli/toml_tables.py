"""Changing tables of a TOML file that somebody else writes: line by line, so that comments and order stay.

What comes out is read again and compared with what was meant; a file that is written in another way is left alone.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any, cast

_HEADER = re.compile(r"\s*\[(?P<many>\[?)(?P<key>[^\[\]]+)\]\]?\s*(#.*)?")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_REST = re.compile(r"\s*(#.*)?")


class Unchangeable(ValueError):
    """The file is not written as tables that can be taken out and added."""


def changed(text: str, new: Mapping[str, Any], *, key: str) -> str:
    """The text with the tables under `key` as they are in `new`.

    Raises:
        Unchangeable: That is not possible without writing all of it anew.
    """
    old = tomllib.loads(text)
    before, after = _under(old, key), _under(new, key)
    gone = {name for name in before if before[name] != after.get(name)}
    come = {name: value for name, value in after.items() if value != before.get(name)}
    end = "\r\n" if "\r\n" in text else "\n"
    kept = "".join(_without(text, key, names=gone)).rstrip()
    pieces = [kept, *(_table(key, name, value=value) for name, value in come.items())]
    written = "\n\n".join(piece for piece in pieces if piece) + "\n"
    written = written.replace("\r\n", "\n").replace("\n", end)
    try:
        same = tomllib.loads(written) == _with(old, key, value=after)
    except ValueError:
        same = False
    if not same:
        raise Unchangeable
    return written


def as_toml(document: Mapping[str, Any], *, key: str) -> str:
    """The tables under `key` alone, as one would write them."""
    return "\n".join(_table(key, name, value=value) for name, value in _under(document, key).items())


def _under(document: Mapping[str, Any], key: str) -> dict[str, Any]:
    found = document.get(key, {})
    if not isinstance(found, dict):
        raise Unchangeable
    return cast("dict[str, Any]", found)


def _with(document: Mapping[str, Any], key: str, *, value: dict[str, Any]) -> dict[str, Any]:
    rest = {name: each for name, each in document.items() if name != key}
    return rest | ({key: value} if value else {})


def _without(text: str, key: str, *, names: set[str]) -> Iterator[str]:
    """The lines that are not of those tables. What stands right before another table belongs to that one."""
    leaving, waiting = False, list[str]()
    for line in text.splitlines(keepends=True):
        header = _HEADER.fullmatch(line.rstrip("\r\n"))
        if header is not None:
            path = _path(header["key"])
            leaving = len(path) > 1 and path[0] == key and path[1] in names
            if not leaving:
                yield from waiting
            waiting = []
        if not leaving:
            yield line
        elif _REST.fullmatch(line.rstrip("\r\n")):
            waiting.append(line)
        else:
            waiting = []


def _path(dotted: str) -> list[str]:
    """What a header names, by the parser's own rules."""
    try:
        found: Any = tomllib.loads(f"[{dotted}]")
    except ValueError:
        return []
    path: list[str] = []
    while found:
        ((name, found),) = found.items()
        path.append(name)
    return path


def _table(key: str, name: str, *, value: Mapping[str, Any]) -> str:
    shown = name if _BARE.fullmatch(name) else json.dumps(name, ensure_ascii=False)
    lines = [f"{key} = {json.dumps(each, ensure_ascii=False)}" for key, each in value.items()]
    return "\n".join([f"[{key}.{shown}]", *lines])
