"""Ignoring: what git leaves out, by the rules of every directory on the way.

Files of rules are written by strangers, too. A pattern becomes a regular expression, and one with many stars would
take for ever to say no: such patterns are not followed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from callgate.tools.confined import Confined, Held, read_all

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

RULES = ".gitignore"
_LARGEST = 256 * 1024
_MOST_PATTERNS = 2000
_LONGEST = 500
_MOST_STARS = 3
_STARS = re.compile(r"\*+")


@dataclass(frozen=True, slots=True)
class _Rules:
    """The patterns of one file, and where they hold."""

    below: str
    """The directory, from the project, with a slash at its end; empty for the project."""
    spec: GitIgnoreSpec


@dataclass(frozen=True, slots=True)
class Ignoring:
    """The rules that hold in a directory; those further down count more."""

    rules: tuple[_Rules, ...] = ()

    def ignores(self, path: str, *, folder: bool) -> bool:
        """Whether a path from the project is left out."""
        for rules in reversed(self.rules):
            inner = path[len(rules.below) :]
            said = rules.spec.check_file(inner + "/" if folder else inner).include
            if said is not None:
                return said
        return False

    def within(self, confined: Confined, folder: Held, *, path: str, names: frozenset[str]) -> Ignoring:
        """The rules that hold in a directory below, whose entries have these names."""
        more = list(_read_rules(confined, folder, names=names, path=path))
        return Ignoring((*self.rules, *more)) if more else self


def _read_rules(confined: Confined, folder: Held, *, names: frozenset[str], path: str) -> Iterator[_Rules]:
    if not path and ".git" in names:
        yield from _excluded(confined, folder)
    if RULES in names:
        yield from _of_file(confined, folder, name=RULES, below=path)


def _excluded(confined: Confined, folder: Held) -> Iterator[_Rules]:
    """The rules of this clone alone."""
    try:
        with confined.directory_at(folder, ".git") as git, confined.directory_at(git, "info") as info:
            yield from _of_file(confined, info, name="exclude", below="")
    except OSError:  # no directory, or none to look into
        return


def _of_file(confined: Confined, folder: Held, *, name: str, below: str) -> Iterator[_Rules]:
    from pathspec import GitIgnoreSpec  # noqa: PLC0415 - an extra

    try:
        with confined.file_at(folder, name) as held:
            text = read_all(held.fd, _LARGEST).decode("utf-8", "replace")
    except OSError:
        return
    spec = GitIgnoreSpec.from_lines(list(_followed(text)))
    if spec.patterns:
        yield _Rules(below, spec)


def _followed(text: str) -> Iterator[str]:
    """The patterns that can be decided quickly, and are any."""
    from pathspec import GitIgnoreSpec  # noqa: PLC0415 - an extra

    for line in text.splitlines()[:_MOST_PATTERNS]:
        stars = len(_STARS.findall(line))
        if not line.strip() or line.startswith("#") or stars > _MOST_STARS or len(line) > _LONGEST:
            continue
        try:
            GitIgnoreSpec.from_lines([line])
        except ValueError:  # no pattern of git's
            continue
        yield line
