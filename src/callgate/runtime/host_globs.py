"""Globs and types of hosts' searches, by ripgrep's rules: which files of a folder one surely leaves out.

What is not understood leaves nothing out. Hosts take several globs apart in different ways, so a file counts as left
out only where it is in every reading. Globs with a slash lie where the host works, which is not known here.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

_BETWEEN = re.compile(r"[\s,]++(?![^{]*\})")
_BRACES = re.compile(r"\{([^{}]*)\}")
_MOST_ALTERNATIVES = 64
_LONGEST = 1000
"""Characters of a glob that are read; a longer one may have anything in it."""
_PLAIN = re.compile(r"[^\s/\\\[\](){}!?,#]*(?:\{[^\s/\\\[\](){}!?#]*\}[^\s/\\\[\](){}!?,#]*)?")
"""A glob of names that every version takes alike: a `*`, and one pair of braces."""
_TYPES = {
    "c": "*.c *.h *.c.in *.h.in *.cats",
    "cpp": "*.c *.h *.cc *.hh *.cpp *.hpp *.cxx *.hxx *.in *.inl *.ipp *.tpp",
    "cs": "*.cs *.csx",
    "css": "*.css *.scss",
    "go": "*.go go.mod go.sum go.work",
    "html": "*.htm *.html *.ejs *.xhtml",
    "java": "*.java *.jsp *.jspx *.properties",
    "js": "*.js *.jsx *.mjs *.cjs *.vue *.es6",
    "kotlin": "*.kt *.kts",
    "md": "*.md *.markdown *.mdown *.mkdn *.mdwn *.mkd *.mdx",
    "php": "*.php* *.pht*",
    "py": "*.py *.pyi *.pyw",
    "ruby": "*.rb *.rbw *.gemspec *.ru .irbrc gemfile rakefile",
    "rust": "*.rs",
    "swift": "*.swift",
    "ts": "*.ts *.tsx *.mts *.cts",
}
"""What ripgrep's types go by, or a little more; one that is not here may be any."""


class _Glob(NamedTuple):
    """One glob, as a host gives it to its search."""

    leaves_out: bool
    names: tuple[str, ...] | None
    """Of one that leaves out: what it surely does. Of another: what it may have at most; None is anything."""
    folders_only: bool = False

    def has(self, name: str, *, folder: bool) -> bool:
        if self.names is None:
            return not self.leaves_out
        if self.leaves_out:
            return folder >= self.folders_only and any(fnmatch.fnmatchcase(name, each) for each in self.names)
        return any(fnmatch.fnmatchcase(name.casefold(), each) for each in self.names)


class Chosen:
    """Which files of a folder are searched, as far as a call says."""

    def __init__(self, glob: Any, kind: Any) -> None:
        self._types = _TYPES[kind].split() if isinstance(kind, str) and kind in _TYPES else None
        said = glob if isinstance(glob, str) else ""
        if len(said) > _LONGEST:
            said = "*"
        readings = dict.fromkeys(map(tuple, _readings(said)))
        self._readings = [[_read(word) for word in words] for words in readings]
        self._passed_by: dict[str, bool] = {}

    def passes_by(self, folder: str) -> bool:
        """Whether folders of this name are surely not gone into."""
        if folder not in self._passed_by:
            self._passed_by[folder] = all(_surely(globs, folder, folder=True) for globs in self._readings)
        return self._passed_by[folder]

    def leaves_out(self, parts: Sequence[str]) -> bool:
        """Whether a file is surely not searched.

        Args:
            parts: Its path from the folder that is searched, its own name last.
        """
        return all(self._left_out(globs, parts) for globs in self._readings)

    def _left_out(self, globs: Sequence[_Glob], parts: Sequence[str]) -> bool:
        *above, name = parts
        if any(_surely(globs, each, folder=True) for each in above) or _surely(globs, name, folder=False):
            return True
        wanted = [glob for glob in globs if not glob.leaves_out]
        if wanted:
            # A file that a glob has is searched whatever its type.
            return not any(glob.has(name, folder=False) for glob in wanted)
        folded = name.casefold()
        return self._types is not None and not any(fnmatch.fnmatchcase(folded, each) for each in self._types)


def _surely(globs: Sequence[_Glob], name: str, *, folder: bool) -> bool:
    """Whether the last glob that has a name leaves it out."""
    return next((glob.leaves_out for glob in reversed(globs) if glob.has(name, folder=folder)), False)


def _readings(glob: str) -> list[list[str]]:
    """The globs that hosts may make of one text."""
    whole = glob.rstrip()
    if not whole:
        return [[]]
    by_blanks = [
        each for word in whole.split() for each in ([word] if "{" in word and "}" in word else word.split(",")) if each
    ]
    by_both = [word for word in _BETWEEN.split(whole) if word]
    return [[whole], by_blanks, by_both]


def _read(word: str) -> _Glob:
    if not word.startswith("!"):
        return _Glob(leaves_out=False, names=_ends(word))
    name = word[1:].removeprefix("**/")
    folders_only = name.endswith("/")
    name = name.removesuffix("/")
    names = tuple(_opened(name)) if name and _PLAIN.fullmatch(name) else None
    return _Glob(leaves_out=True, names=names, folders_only=folders_only)


def _ends(word: str) -> tuple[str, ...] | None:
    """The patterns of names that a glob has, by what stands behind its last slash; None where it may have any."""
    if "\\" in word or "(" in word or word.startswith("#"):
        return None
    alternatives = [word.casefold()]
    while any(_BRACES.search(each) for each in alternatives):
        alternatives = [one for each in alternatives for one in _opened(each)]
        if len(alternatives) > _MOST_ALTERNATIVES:
            return None
    # `[!a]` and `[^a]` are one thing to some, and an unclosed brace is anything.
    ends = tuple(each.rpartition("/")[2] or "*" for each in alternatives)
    return None if any(sign in end for end in ends for sign in "{}[") else ends


def _opened(word: str) -> list[str]:
    found = _BRACES.search(word)
    if found is None:
        return [word]
    return [f"{word[: found.start()]}{each}{word[found.end() :]}" for each in found[1].split(",")]
