"""Paths: where a path of a call really leads, and whether a tool may go there.

A relative path resolves in the working directory, symlinks are followed part by part, and what is not there yet
resolves by what is. The answer holds for the moment it is given: a handler that opens files does so by directory
handle, and looks at what its own patterns match.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from callgate.model.levels import Origin
from callgate.policy.aims import Aims
from callgate.policy.closed import is_prose, names_governing, says_a_word
from callgate.policy.guess import LONGEST_PATH, is_for_texts, spellings
from callgate.policy.looks import STEPS_A_NAME, TooMany
from callgate.policy.off_limits import OffLimits
from callgate.policy.patterns import (
    Match,
    Shape,
    alternatives,
    is_pattern,
    matches,
    may_be_expanded,
    split,
    unescaped,
)
from callgate.policy.showing import show
from callgate.policy.unfit import Unfit, refuse_spelling

_AWAY = re.compile(r"[(|][/~\\]|[@!+?*]\([^()]*/")
_CLIMBS = re.compile(r"(?:^|[/\\,{(|])\.\.(?:$|[/\\,})|])")
_OF_SEVERAL_WORDS = re.compile(r"[\s\"']")
"""JSON and code have braces as well, and nobody opens those over blanks and quotes."""
_FOR_A_CHANGE = 5 * STEPS_A_NAME
"""For a tool that changes something, all directories above are looked at for git's."""
_LOOKING = frozenset({Origin.BUILTIN, Origin.HOST})
"""Tools that judge what they meet by themselves; and those of a host, of which a pattern gives names, and a search is
judged by what it would read."""


@dataclass(frozen=True, slots=True)
class Paths(OffLimits):
    """The paths of one call, and what may be one."""

    def judge(self, text: str, *, base: str | None = None, whole: bool = True) -> str:
        """The real path.

        Args:
            text: The path as the call has it.
            base: Where it is relative to; the working directory when nothing is said.
            whole: Whether the call is about all that lies below it, and not only at work there.

        Raises:
            Unfit: It may not be touched.
        """
        refuse_spelling(text)
        return self._judge(text, base=base, whole=whole)

    def judge_guess(self, text: str, *, base: str | None = None, whole: bool = True) -> str:
        """The real path of a text that may be one, after it was judged as every path that tools may make of it.

        Raises:
            Unfit: As one of them, it may not be touched.
        """
        first, *_ = [self._judge_reading(spelling, base=base, whole=whole) for spelling in spellings(text)]
        return first

    def _judge_reading(self, text: str, *, base: str | None, whole: bool) -> str:
        if may_be_expanded(text):
            for each in self._opened(text, at_all=not _OF_SEVERAL_WORDS.search(text)):
                self._judge_pattern(each, base=base)
        return self._judge(text, base=base, whole=whole)

    def _judge(self, text: str, *, base: str | None, whole: bool) -> str:
        joined = os.path.join(self.base if base is None else base, text)  # noqa: PTH118 - `..` must stay where it is
        literal = os.path.normpath(joined)
        resolved = self._real(text, joined)
        # A tool that tidies the path before it opens it means another file wherever a link stands before a `..`.
        meant = {resolved, self._real(text, literal)} if ".." in text else {resolved}
        for place in meant:
            if whole:
                self._refuse_holder(text, place)
            self._refuse_git(text, place, literal=literal)
            self._refuse_code(text, place, literal=literal)
            self._refuse_another(text, place, literal=literal)
            self._refuse_outside(text, place)
        return resolved

    def judge_pattern(self, text: str, *, base: str | None = None) -> str:
        """The real path of a pattern's fixed part, with the pattern behind it.

        Raises:
            Unfit: It climbs, starts where the tool may not go, or could match what the tool may not touch.
        """
        refuse_spelling(text)
        if "{" in text:
            # Whoever expands braces does so first: what starts inside of them starts somewhere else.
            for each in self._opened(text, at_all=True):
                refuse_spelling(each)
                self._judge_pattern(each, base=base)
        return self._judge_pattern(text, base=base)

    def _judge_pattern(self, text: str, *, base: str | None) -> str:
        if is_pattern(text) and _AWAY.search(text):
            raise Unfit(f"pattern {show(text)} starts somewhere else inside brackets; make several calls of it")
        if "\\" in text:
            self._judge_expanded(unescaped(text), base=base)
        return self._judge_expanded(text, base=base)

    def _judge_expanded(self, text: str, *, base: str | None) -> str:
        self.looks.count_path(text)
        self.looks.count(0 if self.tool.read_only else _FOR_A_CHANGE)
        if not is_pattern(text):
            return self._judge(text, base=base, whole=True)
        if _CLIMBS.search(text):
            raise Unfit(f"pattern {show(text)} has `..` in it; start it from the directory it is about")
        start, parts = split(text)
        place = self._judge(start, base=base, whole=False)
        if self.tool.source not in _LOOKING:
            self._refuse_named(text, text, base=base)
            self._refuse_matches(text, place, parts=parts)
        return os.path.join(place, *parts)  # noqa: PTH118 - a pattern

    def _refuse_named(self, text: str, pattern: str, *, base: str | None) -> None:
        """Refuse what could match one of Callgate's own files by its text, there or not."""
        _, parts = split(pattern)
        # A star that says nothing of names means what is there.
        if any(part.strip("*") for part in parts if part not in ("", ".")) and self._meets_own(pattern, base=base):
            what = f"pattern {show(text)} could match one of Callgate's own files, which no tool may touch"
            raise Unfit(f"{what}; no role and no grant lifts this")

    def _meets_own(self, pattern: str, *, base: str | None) -> bool:
        above = self.base if base is None else base
        start, parts = split(pattern)
        # Many tools look for what has no slash before it at every depth.
        ways = [] if pattern.startswith("/") else [(above, pattern, True)]
        if base is not None or start != ".":
            place = os.path.realpath(os.path.join(above, start))  # noqa: PTH118 - `..` must stay where it is
            ways.append((place, "/".join(parts), False))
        if "{" in pattern or "\\" in pattern:
            ways.append(("/", pattern, False))
        # Who compares whole paths lets a star stand for slashes; of signs alone that would be everything.
        over_slashes = bool(pattern.strip("*?./"))
        return any(
            aims.met_by(read, looks=self.looks, anywhere=anywhere, over_slashes=over_slashes)
            for below, read, anywhere in ways
            if (aims := self.own.aims_below(below)) is not None
        )

    def _refuse_matches(self, text: str, start: str, *, parts: Sequence[str]) -> None:
        """Refuse what matches, or goes through, something on the disk that may not be touched."""
        try:
            for found in matches(start, Shape(parts, looks=self.looks), looks=self.looks):
                self._refuse_match(found)
        except TooMany:
            what = f"there is more than can be looked at where pattern {show(text)} leads"
            raise Unfit(f"{what}; start it from a directory closer to what it is about") from None
        except Unfit as error:
            raise Unfit(f"pattern {show(text)} matches what the tool may not touch: {error}") from None

    def _refuse_match(self, found: Match) -> None:
        if found.whole:
            self.looks.count(0 if self.tool.read_only else _FOR_A_CHANGE)
            self._refuse(found.path, found.path, status=found.status)
        place = self._real(found.path, found.path) if found.is_link else found.path
        if found.is_link:
            self._refuse(found.path, place, status=None)
        if found.whole:
            self._refuse_holder(found.path, place)
        else:
            self._refuse_processes(found.path, place, literal=place, status=found.status)

    def keep_off(self, text: str, *, base: str | None = None, about: str | None = None) -> None:
        """Refuse only what no tool may touch: the text may be a path, or something else entirely.

        Args:
            text: The text.
            base: Where it is relative to, if it is a path; the working directory when nothing is said.
            about: The argument of a tool on files that it stands in; None where the tool has nothing to do with files,
                and is kept away from Callgate's own alone.

        Raises:
            Unfit: It leads there, as a path or as a tool might expand it.
        """
        if len(text) > LONGEST_PATH or "\0" in text:
            return
        for spelling in spellings(text):
            self._keep_path_off(text, spelling, base=base, about=about)
            if may_be_expanded(spelling) and self.tool.source not in _LOOKING:
                self._keep_pattern_off(text, spelling, base=base, about=about)

    def _keep_path_off(self, text: str, path: str, *, base: str | None, about: str | None) -> None:
        joined = os.path.join(self.base if base is None else base, path)  # noqa: PTH118 - as above
        with contextlib.suppress(OSError, ValueError):
            place, status = _follow(joined)
            literal = os.path.normpath(joined)
            self._refuse_own(text, place, literal=literal, status=status)
            if about is not None and self.tool.source not in _LOOKING:
                self._keep_closed(text, place, literal=literal, there=status is not None, about=about)

    def _keep_closed(self, text: str, place: str, *, literal: str, there: bool, about: str) -> None:
        """Refuse what is closed to tools beside Callgate's own files, where a text may well mean it."""
        self._refuse_code(text, place, literal=literal)
        if there or not is_prose(text, place):
            self._refuse_another(text, place, literal=literal)
        if there or "/" in text:
            self._refuse_git(text, place, literal=literal)
        if there and self._may_mean_whole(text, about):
            self._refuse_holder(text, place)

    def _may_mean_whole(self, text: str, about: str) -> bool:
        # Signs, and words in a text, mean no directory to a tool that at worst would move it.
        return self.tool.destructive or (says_a_word(text) and not is_for_texts(about))

    def _keep_pattern_off(self, text: str, pattern: str, *, base: str | None, about: str | None) -> None:
        self._refuse_named(text, pattern, base=base)
        if _OF_SEVERAL_WORDS.search(pattern):
            return
        if about is not None:
            self._keep_pattern_closed(text, pattern, base=base, about=about)
        # Over links and double dots its words may lead where the text does not say.
        for each in (alternatives(pattern, looks=self.looks) if "{" in pattern else None) or ():
            self.looks.count_path(each)
            if may_be_expanded(each):
                self._refuse_named(text, each, base=base)
            else:
                self._keep_path_off(text, each, base=base, about=about)

    def _keep_pattern_closed(self, text: str, pattern: str, *, base: str | None, about: str) -> None:
        above = self.base if base is None else base
        start, _ = split(pattern)
        if start != ".":
            place = os.path.realpath(os.path.join(above, start))  # noqa: PTH118 - as above
            self._keep_closed(text, place, literal=place, there=False, about=about)
        if names_governing(pattern, read_only=self.tool.read_only, looks=self.looks):
            what = f"pattern {show(text)} could match what governs a Callgate or a repository"
            raise Unfit(f"{what}, and no tool may touch that so; name what is meant")
        for names in self.own.holders_below(above) if self._may_mean_whole(text, about) else ():
            if says_a_word(pattern) and Aims([names]).met_by(pattern, looks=self.looks):
                self._refuse_holder(text, os.path.join(above, *names))  # noqa: PTH118 - as above

    def _opened(self, text: str, *, at_all: bool) -> list[str]:
        """What becomes of a text whose braces are opened, itself among it.

        Raises:
            Unfit: It is to be opened at all events, and that is too much to look at.
        """
        found = alternatives(text, looks=self.looks)
        if found is None and at_all:
            raise Unfit(f"pattern {show(text)} has too many braces; make several calls of it")
        return list(dict.fromkeys((text, *(found or ()))))

    def _real(self, text: str, joined: str) -> str:
        try:
            place, status = _follow(joined)
        except (OSError, ValueError) as error:
            raise Unfit(f"where path {show(text)} leads cannot be seen ({type(error).__name__})") from error
        if status is not None and stat.S_ISLNK(status.st_mode):
            raise Unfit(f"path {show(text)} is a link that leads to itself")
        self._refuse_own(text, place, literal=os.path.normpath(joined), status=status)
        return place


def _follow(path: str) -> tuple[str, os.stat_result | None]:
    """Where a path really leads, and what is there; nothing is, where nothing was made yet."""
    place = os.path.realpath(path)
    try:
        return place, os.lstat(place)
    except (FileNotFoundError, NotADirectoryError):
        return place, None


def real_directory(directory: str | Path | None) -> str:
    """The working directory as relative paths see it; None is the process's own."""
    return os.path.realpath(directory or Path.cwd())
