"""Ignoring: what git leaves out, by the rules of every directory on the way.

Files of rules are written by strangers, too. Where one is too large to be followed nobody can say what it leaves out,
so everything that it is about is left out.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from callgate.tools.confined import Confined, Held, read_all
from callgate.tools.intelligence.globs import compiled, is_plain

RULES = ".gitignore"
_LARGEST = 1024 * 1024
_MOST_GLOBS = 2000
_LONGEST = 1000
_BETWEEN_LOOKS = 16
"""Patterns that are tried before the clock is looked at again."""
_MARK = b"\xef\xbb\xbf"

Look = Callable[[], None]
"""Looks at the clock.

Raises:
    TimeoutError: The time is up.
"""


class TooMuch(Exception):
    """A file of rules cannot be followed; the text says why."""


@dataclass(frozen=True, slots=True)
class _Glob:
    """A pattern with something special in it."""

    number: int
    leaves_out: bool
    of_path: bool
    """Whether it is about the path from its file on, and not about the name alone."""
    matches: re.Pattern[bytes]


@dataclass(slots=True)
class _Side:
    """The patterns that count for directories, or for files."""

    plain: dict[bytes, tuple[int, bool]] = field(default_factory=dict[bytes, tuple[int, bool]])
    """By a name, or by a slash and a path: the number of the pattern, and whether it leaves out."""
    globs: list[_Glob] = field(default_factory=list[_Glob])

    def said(self, path: bytes, look: Look) -> bool | None:
        """Whether a path is left out by the last pattern that fits; None where none does."""
        name = path.rpartition(b"/")[2]
        nothing = (-1, None)
        number, answer = max(self.plain.get(name, nothing), self.plain.get(b"/" + path, nothing), key=lambda it: it[0])
        for at, glob in enumerate(reversed(self.globs)):
            if at % _BETWEEN_LOOKS == 0:
                look()
            if glob.number < number:
                break
            if glob.matches.fullmatch(path if glob.of_path else name):
                return glob.leaves_out
        return answer


@dataclass(slots=True)
class Rules:
    """The patterns of one file, and where they hold."""

    below: int
    """How many bytes of a path lead there."""
    folders: _Side = field(default_factory=_Side)
    files: _Side = field(default_factory=_Side)

    def add(self, line: bytes, number: int) -> None:
        """Take a pattern, which counts more than those before it."""
        leaves_out = not line.startswith(b"!")
        pattern = line if leaves_out else line[1:]
        of_folders = pattern.endswith(b"/")
        pattern = pattern.removesuffix(b"/")
        of_path = b"/" in pattern
        pattern = pattern.removeprefix(b"/")
        sides = (self.folders,) if of_folders else (self.folders, self.files)
        if is_plain(pattern):
            for side in sides:
                side.plain[b"/" + pattern if of_path else pattern] = (number, leaves_out)
            return
        matches = compiled(pattern)
        if matches is None:
            return
        for side in sides:
            side.globs.append(_Glob(number, leaves_out, of_path, matches))


@dataclass(frozen=True, slots=True)
class Ignoring:
    """The rules that hold in a directory; those further down count more."""

    look: Look
    rules: tuple[Rules, ...] = ()

    def ignores(self, path: str, *, folder: bool) -> bool:
        """Whether a path from the project is left out.

        Raises:
            TimeoutError: The time is up.
        """
        whole = os.fsencode(path)
        for rules in reversed(self.rules):
            said = (rules.folders if folder else rules.files).said(whole[rules.below :], self.look)
            if said is not None:
                return said
        return False

    def within(self, confined: Confined, folder: Held, *, path: str, names: frozenset[str]) -> Ignoring:
        """The rules that hold in a directory below, whose entries have these names.

        Raises:
            TimeoutError: The time is up.
            TooMuch: There are more of them than can be followed.
        """
        more: list[Rules] = []
        if not path and ".git" in names:
            more += _excluded(confined, folder, look=self.look)
        if RULES in names:
            more += _of_file(confined, folder, name=RULES, below=path, look=self.look)
        return Ignoring(self.look, (*self.rules, *more)) if more else self


def _excluded(confined: Confined, folder: Held, *, look: Look) -> list[Rules]:
    """The rules of this clone alone."""
    try:
        with confined.directory_at(folder, ".git") as git, confined.directory_at(git, "info") as info:
            return _of_file(confined, info, name="exclude", below="", look=look)
    except TimeoutError:
        raise
    except OSError:  # no directory, or none to look into
        return []


def _of_file(confined: Confined, folder: Held, *, name: str, below: str, look: Look) -> list[Rules]:
    try:
        with confined.file_at(folder, name) as held:
            content = read_all(held.fd, _LARGEST + 1)
    except OSError:
        return []
    return [read_rules(content, name=name, below=below, look=look)]


def read_rules(content: bytes, *, name: str, below: str, look: Look) -> Rules:
    """The patterns of a file.

    Args:
        content: What is in it.
        name: What it is called.
        below: Where they hold: the directory, from the project, with a slash at its end; empty for the project.
        look: Looks at the clock.

    Raises:
        TimeoutError: The time is up.
        TooMuch: There are more of them than can be followed.
    """
    if len(content) > _LARGEST:
        raise TooMuch(f"its {name} has more than {_LARGEST // 1024} KiB")
    rules = Rules(len(os.fsencode(below)))
    # Of patterns that are written twice the later one counts.
    lines = list(dict.fromkeys(reversed(list(_lines(content)))))
    for number, line in enumerate(reversed(lines)):
        if number % _BETWEEN_LOOKS == 0:
            look()
        if len(line) > _LONGEST:
            raise TooMuch(f"its {name} has a pattern of more than {_LONGEST} bytes")
        rules.add(line, number)
        if len(rules.folders.globs) > _MOST_GLOBS:
            raise TooMuch(f"its {name} has more than {_MOST_GLOBS} patterns with wildcards")
    return rules


def _lines(content: bytes) -> Iterator[bytes]:
    """The patterns, as git reads them."""
    for line in content.removeprefix(_MARK).split(b"\n"):
        if not line.startswith(b"#"):
            pattern = _without_blanks(line.removesuffix(b"\r").partition(b"\0")[0])
            if pattern:
                yield pattern


def _without_blanks(line: bytes) -> bytes:
    """Without the blanks at its end, but for one behind a backslash."""
    bare = line.rstrip(b" ")
    is_escaped = (len(bare) - len(bare.rstrip(b"\\"))) % 2 == 1
    return bare + b" " if is_escaped and len(bare) < len(line) else bare
