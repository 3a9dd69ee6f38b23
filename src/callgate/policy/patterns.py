"""Patterns: what a path with stars, brackets or braces in it matches on the disk.

Tools read them differently. Here each sign means the most that it means to any: names match without case and with the
dots before them, a `**` goes over links, and a class that is turned around is any letter. What they could match by
their text alone, `aims` says.
"""

from __future__ import annotations

import fnmatch
import os
import re
import stat
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from callgate.policy.aims import Aims
from callgate.policy.looks import STEPS_A_NAME, Looks
from callgate.policy.own_files import listed, part_of_key

_STEPS_A_PART = 20
_LETTERS_COPIED_A_STEP = 256
_PLACES_A_STEP = 4

_MAGIC = re.compile(r"[*?\[{]|[@!+]\(")
_GROUP = re.compile(r"[@!+?*]\([^/]*\)")
_ODD_CLASS = re.compile(r"\[[\]!^\[][^/\]]*\]+")
_NESTED_CLASS = re.compile(r"\[[^\]]*\[")
_BRACES = re.compile(r"\{([^{}]*)\}")
_BARE = re.compile(r"\{([^{},.]*)\}")
"""Braces around one word: to some that is all that becomes of them, and shells leave them as they are."""
_BEGUN, _ENDED = "\0<", "\0>"
"""Stand for braces that are not opened; no path has a NUL in it."""
_SEQUENCE = re.compile(r"[^.,]+\.\.[^,]+")
_MOST_ALTERNATIVES = 512
_MOST_BRACES = 32

Places = frozenset[int]
"""Which parts of a shape come next; its length among them: it may end here."""


class Match(NamedTuple):
    """Something on the disk that a pattern matches, or goes through."""

    path: str
    """Where it lies: without links, but for itself."""
    status: os.stat_result
    """What is there, a link for what it is."""
    whole: bool
    """Whether the pattern may end here; else it only goes on from here."""

    @property
    def is_link(self) -> bool:
        """Whether it leads elsewhere."""
        return stat.S_ISLNK(self.status.st_mode)


def is_pattern(text: str) -> bool:
    """Whether a tool that expands patterns would expand this."""
    return _MAGIC.search(text) is not None


def may_be_expanded(text: str) -> bool:
    """Whether some tool would make something else of it: some take out backslashes even where there is no sign."""
    return "\\" in text or is_pattern(text)


def unescaped(text: str) -> str:
    """The text to whom a backslash only takes the meaning from the sign behind it."""
    return text.replace("\\", "")


def alternatives(text: str, *, looks: Looks) -> list[str] | None:
    """What becomes of a text whose braces are opened; None where that is too much.

    Raises:
        TooMany: There is more to look at than is looked at.
    """
    bare = _BARE.sub(r"\1", text)
    opened = _all_opened(bare, looks)
    if opened is None or bare == text or "{" not in bare:
        return opened
    kept = _all_opened(_BARE.sub(rf"{_BEGUN}\1{_ENDED}", text), looks)
    return opened + [one.replace(_BEGUN, "{").replace(_ENDED, "}") for one in kept or ()]


def _all_opened(text: str, looks: Looks) -> list[str] | None:
    found = [text]
    if text.count("{") > _MOST_BRACES:
        return None
    # They differ only in what stood inside of braces: all of them have some left, or none.
    while _BRACES.search(found[0]):
        looks.count(len(found) + len(found) * len(text) // _LETTERS_COPIED_A_STEP)
        found = [one for each in found for one in _opened(each)]
        if len(found) > _MOST_ALTERNATIVES:
            return None
    return found


def _opened(text: str) -> list[str]:
    before, inside, after = _BRACES.split(text, maxsplit=1)
    # Shells count in them: {a..c}.
    listed_in = [inside, "*"] if _SEQUENCE.fullmatch(inside) else inside.split(",")
    return [f"{before}{each}{after}" for each in listed_in]


def split(text: str) -> tuple[str, list[str]]:
    """Where a pattern starts, and its parts from the first that is one."""
    parts = text.split("/")
    fixed = next(at for at, part in enumerate(parts) if may_be_expanded(part))
    return "/".join(parts[:fixed]) or ("/" if text.startswith("/") else "."), parts[fixed:]


class _Wide:
    """A part that tools take for different things: it is all of them."""

    def __init__(self, part: str) -> None:
        self._part = part

    def match(self, name: str, looks: Looks) -> bool:
        """Whether a name could fit."""
        return Aims([(part_of_key(name),)]).met_by(self._part, looks=looks)


class Shape:
    """The parts of a pattern behind its fixed ones."""

    def __init__(self, parts: Sequence[str], *, looks: Looks) -> None:
        self._looks = looks
        looks.count(sum(_STEPS_A_PART if part.strip("*") else 1 for part in parts))
        read = [_read(part) for part in parts if part not in ("", ".")]
        # Any number of directories twice is any number.
        self._parts = [part for at, part in enumerate(read) if part is not None or read[at - 1 : at] != [None]]

    @property
    def first(self) -> Places:
        """Where it begins."""
        return self._rested({0})

    def after(self, places: Places, name: str) -> Places:
        """What comes next after this name; nothing where it does not fit."""
        return self._rested({next_one for at in places for next_one in self._behind(at, name)})

    def ends(self, places: Places) -> bool:
        """Whether it may end here."""
        return len(self._parts) in places

    def goes_on(self, places: Places) -> bool:
        """Whether something may come."""
        return any(at < len(self._parts) for at in places)

    def names(self, places: Places) -> list[str] | None:
        """The only names that can come; None where others can."""
        parts = [self._parts[at] for at in places if at < len(self._parts)]
        fixed = [part for part in parts if isinstance(part, str)]
        return fixed if len(fixed) == len(parts) else None

    def _rested(self, places: set[int]) -> Places:
        # Where any number of directories may come, none may as well.
        none = {at + 1 for at in places if at < len(self._parts) and self._parts[at] is None}
        return frozenset(places | none)

    def _behind(self, at: int, name: str) -> Iterator[int]:
        if at == len(self._parts):
            return
        part = self._parts[at]
        if part is None:
            yield at
        elif self._fits(part, name):
            yield at + 1

    def _fits(self, part: str | re.Pattern[str] | _Wide, name: str) -> bool:
        if isinstance(part, str):
            return part_of_key(part) == part_of_key(name)
        return part.match(name, self._looks) if isinstance(part, _Wide) else part.match(name) is not None


@lru_cache(maxsize=1024)
def _read(part: str) -> str | re.Pattern[str] | _Wide | None:
    """A part: a name, what names are like, or None, which is any number of directories."""
    if len(part) > 1 and not part.strip("*"):
        return None
    if not may_be_expanded(part):
        return part
    if "\\" in part or _NESTED_CLASS.search(part):
        return _Wide(part)
    return re.compile(fnmatch.translate(_ODD_CLASS.sub("?", _GROUP.sub("*", part))), re.IGNORECASE)


def matches(start: str, shape: Shape, *, looks: Looks) -> Iterator[Match]:
    """What a pattern matches below a real directory, and what it goes through; links lead where they lead.

    Raises:
        TooMany: There is more to look at than is looked at.
    """
    pending = [(start, shape.first)]
    seen = set(pending)
    while pending:
        folder, places = pending.pop()
        for path, after in _below(folder, shape, places=places, looks=looks):
            try:
                status = os.lstat(path)
            except OSError:
                continue
            found = Match(path, status, shape.ends(after))
            leads_on = shape.goes_on(after) and os.path.isdir(path)  # noqa: PTH112 - a text all along
            if found.whole or leads_on:
                yield found
            inner = (os.path.realpath(path) if found.is_link else path, after)
            if leads_on and inner not in seen:
                seen.add(inner)
                pending.append(inner)


def _below(folder: str, shape: Shape, *, places: Places, looks: Looks) -> Iterator[tuple[str, Places]]:
    names = shape.names(places)
    looks.count(STEPS_A_NAME)
    for name in (entry.name for entry in listed(folder)) if names is None else names:
        looks.count(STEPS_A_NAME + len(places) // _PLACES_A_STEP)
        after = shape.after(places, name)
        if after:
            yield os.path.join(folder, name), after  # noqa: PTH118 - a text all along
