"""Globs: which files of a search ripgrep is to look at, said so that one with a slash counts from what is searched.

Ripgrep counts it from where it is started, and takes one with a dot before its slash, or a slash at its end, for one
that fits no file. A pattern of `list_directory` counts as here, and is none of ripgrep's: a backslash is a sign of a
name to it, a ! at the beginning likewise, {a,b} is refused, and `docs/` is the directory and not what lies in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_EVERYTHING = "**"
_NAMES_HIDDEN = re.compile(r"(^|[/{,\[])\.")
"""A glob with a part that begins with a dot means hidden files; any other that fits them would show them as well."""
_CHOICE = re.compile(r"[][{}\\]")
_ANYTHING = frozenset("*?")


def options_of(glob: str, *, at: str) -> Iterator[str]:
    """What ripgrep is told for it.

    Args:
        glob: As it was given; with ! before it, all files but those.
        at: The directory that is searched, from where ripgrep is started.

    Raises:
        ValueError: It is absolute, or leads out of a directory.
    """
    no, stated = ("!", glob[1:]) if glob.startswith("!") else ("", glob)
    if ".." in stated.split("/") or (not no and stated.startswith("/")):
        raise ValueError(
            "glob is matched inside of path, and neither climbs nor begins with a slash; name the directory as path"
        )
    parts = _parts(stated)
    counts_from_path = "/" in stated.rstrip("/")
    inner = "/".join(parts) or _EVERYTHING
    if parts and stated.endswith("/"):
        # What is not to be searched need not be looked into either.
        inner += "/" if no else f"/{_EVERYTHING}"
        inner = inner if no or counts_from_path else f"{_EVERYTHING}/{inner}"
    start = f"/{literal(at)}" if at and counts_from_path else ""
    if not no:
        yield from (f"--glob={directory}" for directory in _directories(inner, start=start))
    yield f"--glob={no}{start}/{_kept(inner)}" if counts_from_path else f"--glob={no}{_kept(inner)}"
    if not _NAMES_HIDDEN.search(inner):
        yield "--glob=!.*"


def names_again(glob: str, *, at: str) -> bool:
    """Whether it begins with the directory that is searched, as one would that counts from above."""
    above = at.split("/")
    return bool(at) and not glob.startswith("!") and _parts(glob)[: len(above)] == above


def literal(path: str) -> str:
    """A glob that fits this path and no other."""
    return _kept("".join(f"\\{letter}" if letter in r"*?[]{}!\\" else letter for letter in path))


def _kept(glob: str) -> str:
    """It as a line of an ignore file, as which ripgrep reads it: there, # begins a remark, and blanks end nothing.

    By a name that ends with a dot it finds no file.
    """
    begun = f"\\{glob}" if glob.startswith("#") else glob
    before, last = begun[:-1], begun[-1:]
    return f"{before}[{last}]" if (last.isspace() or last == ".") and not before.endswith("\\") else begun


def _parts(glob: str) -> list[str]:
    return [part for part in glob.split("/") if part not in {"", "."}]


def _directories(glob: str, *, start: str) -> Iterator[str]:
    """Those that a glob writes out. Into what is hidden or ignored ripgrep only looks if a glob fits the directory."""
    way = start
    for part in glob.split("/")[:-1]:
        if _CHOICE.search(part):  # there, a slash need not be the end of a part
            return
        way += f"/{part}"
        if _ANYTHING.isdisjoint(part):
            yield f"{way}/"
