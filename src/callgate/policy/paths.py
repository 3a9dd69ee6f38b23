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
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from callgate.model.levels import Effect
from callgate.model.tool import Tool
from callgate.policy.git_places import lies_in_git, told_by
from callgate.policy.guess import LONGEST_PATH, spellings
from callgate.policy.own_files import OwnFiles, SecondNames, is_configuration, is_git, key_of, names_store
from callgate.policy.showing import name_all, show
from callgate.policy.ways import follow, is_inside, overlap

_MAGIC = re.compile(r"[*?\[{]")
_BRACES = re.compile(r"\{([^{}]*)\}")
_MOST_ALTERNATIVES = 256
_MOST_BRACES = 32
_AWAY = re.compile(r"[(|][/~\\]")
_CLIMBS = re.compile(r"(?:^|[/\\,{(|])\.\.(?:$|[/\\,})|])")
_OTHER_MEANING = re.compile(r"~|file:|[a-z][a-z0-9+.-]*://", re.IGNORECASE)


class Unfit(Exception):
    """The path may not be touched; the message says why and what would change that."""


@dataclass(frozen=True, slots=True)
class Ground:
    """Where the tools of one scope family may go."""

    family: str
    roots: tuple[str, ...]
    """Real directories."""
    git: tuple[str, ...]
    """Those among them that are named in a `.git`, or in a repository without one, which opens it for writing."""
    void: tuple[str, ...] = ()
    """Entries that count for nothing, because a tool could choose where they lead; why, for people."""

    @classmethod
    def of(cls, family: str, entries: Iterable[str], *, working_directory: str, beside: Iterable[str] = ()) -> Ground:
        """Resolve what the configuration says; relative entries lie in the working directory.

        Args:
            family: Whose they are.
            entries: The directories, as they are written there.
            working_directory: A real one.
            beside: What is granted to other families.
        """
        entries = tuple(entries)
        places = [_placed(entry, working_directory) for entry in entries]
        everything = dict.fromkeys((*places, *(_placed(entry, working_directory) for entry in beside)))
        others = {place: os.path.realpath(place) for place in everything}
        void = {place: why for place in places if (why := _open_to_choice(place, others)) is not None}
        counting = [(place, entry) for place, entry in zip(places, entries, strict=True) if place not in void]
        git = tuple(real for place, entry in counting for real in _opened_git(place, entry, base=working_directory))
        return cls(family, tuple(os.path.realpath(place) for place, _ in counting), git, tuple(void.values()))


@dataclass(frozen=True, slots=True)
class Paths:
    """What counts for the paths of one call."""

    tool: Tool
    base: str
    """The working directory."""
    grounds: tuple[Ground, ...]
    """Every one of them must hold the path; none is: anywhere."""
    own: OwnFiles
    second_names: SecondNames
    code: tuple[str, ...] = ()
    """What Callgate runs from."""
    ways_to_code: tuple[str, ...] = ()
    """Links over which it is found."""
    git: tuple[str, ...] = ()
    """What is open for writing of git's."""

    def judge(self, text: str, *, base: str | None = None, whole: bool = True) -> str:
        """The real path.

        Args:
            text: The path as the call has it.
            base: Where it is relative to; the working directory when nothing is said.
            whole: Whether the call is about all that lies below it, and not only at work there.

        Raises:
            Unfit: It may not be touched.
        """
        _refuse_spelling(text)
        return self._judge(text, base=base, whole=whole)

    def judge_guess(self, text: str, *, base: str | None = None, whole: bool = True) -> str:
        """The real path of a text that may be one, after it was judged as every path that tools may make of it.

        Raises:
            Unfit: As one of them, it may not be touched.
        """
        first, *_ = [self._judge(spelling, base=base, whole=whole) for spelling in spellings(text)]
        return first

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
            Unfit: It climbs, or starts where the tool may not go.
        """
        _refuse_spelling(text)
        if "{" in text:
            # Whoever expands braces does so first: what starts inside of them starts somewhere else.
            for each in _alternatives(text):
                self._judge_pattern(each, base=base)
        return self._judge_pattern(text, base=base)

    def _judge_pattern(self, text: str, *, base: str | None) -> str:
        if not is_pattern(text):
            return self.judge(text, base=base)
        if _CLIMBS.search(text):
            raise Unfit(f"pattern {show(text)} has `..` in it; start it from the directory it is about")
        if _AWAY.search(text):
            raise Unfit(f"pattern {show(text)} starts somewhere else inside brackets; make several calls of it")
        parts = text.split("/")
        fixed = next(at for at, part in enumerate(parts) if is_pattern(part))
        start = "/".join(parts[:fixed]) or ("/" if text.startswith("/") else ".")
        return os.path.join(self.judge(start, base=base, whole=False), *parts[fixed:])  # noqa: PTH118 - a pattern

    def refused(self, place: str, status: os.stat_result | None) -> str | None:
        """Why a real path that a handler holds may not be touched; None if it may.

        Args:
            place: Absolute, without links, as the handler reached it.
            status: What is there.
        """
        try:
            self._refuse_own(place, place, literal=place, status=status)
            if not self.tool.read_only:
                self._refuse_git(place, place, literal=place)
                self._refuse_code(place, place, literal=place)
            self._refuse_another(place, place, literal=place)
            self._refuse_outside(place, place)
        except Unfit as error:
            return str(error)
        return None

    def roots(self) -> tuple[str, ...]:
        """The directories that every ground allows, none inside another."""
        allowed = ["/"]
        for ground in self.grounds:
            allowed = overlap(ground.roots, allowed)
        kept = dict.fromkeys(allowed)
        return tuple(root for root in kept if not any(root != other and is_inside(root, other) for other in kept))

    def keep_off(self, text: str, *, base: str | None = None) -> None:
        """Refuse only Callgate's own files: the text may be a path, or something else entirely.

        Raises:
            Unfit: It leads to one of them, as a path or as a tool might expand it.
        """
        if len(text) > LONGEST_PATH or "\0" in text:
            return
        for spelling in spellings(text):
            joined = os.path.join(self.base if base is None else base, spelling)  # noqa: PTH118 - as above
            with contextlib.suppress(OSError, ValueError):
                place, status = _follow(joined)
                self._refuse_own(text, place, literal=os.path.normpath(joined), status=status)

    def _real(self, text: str, joined: str) -> str:
        try:
            place, status = _follow(joined)
        except (OSError, ValueError) as error:
            raise Unfit(f"where path {show(text)} leads cannot be seen ({type(error).__name__})") from error
        if status is not None and stat.S_ISLNK(status.st_mode):
            raise Unfit(f"path {show(text)} is a link that leads to itself")
        self._refuse_own(text, place, literal=os.path.normpath(joined), status=status)
        return place

    def _refuse_own(self, text: str, place: str, *, literal: str, status: os.stat_result | None) -> None:
        linked = status is not None and self.second_names.is_one(status)
        if linked or self.own.holds(place) or (literal != place and self.own.holds(literal)):
            what = f"path {show(text)} is one of Callgate's own files, which no tool may touch"
            raise Unfit(f"{what}; no role and no grant lifts this")

    def _refuse_holder(self, text: str, place: str) -> None:
        # A program that is started there is judged by what it is, not by where.
        runs_programs = Effect.LOCAL_EXEC in self.tool.effects
        if self.tool.destructive and not runs_programs and self.own.lie_below(place):
            raise Unfit(f"path {show(text)} holds Callgate's own files, so nothing destructive may name it as a whole")

    def _refuse_git(self, text: str, place: str, *, literal: str) -> None:
        if self.tool.read_only or any(is_inside(place, root) for root in self.git):
            return
        if any(map(is_git, (*key_of(place), *key_of(literal)))) or lies_in_git(place):
            advice = "list that .git in the paths of the scope family to open it"
            raise Unfit(f"path {show(text)} lies in a .git directory, which is read-only to tools; {advice}")

    def _refuse_code(self, text: str, place: str, *, literal: str) -> None:
        if self.tool.read_only:
            return
        if literal in self.ways_to_code or any(is_inside(place, root) for root in self.code):
            what = f"path {show(text)} lies where Callgate and its libraries run from, which is read-only to tools"
            raise Unfit(f"{what}; give the project an environment of its own")

    def _refuse_another(self, text: str, place: str, *, literal: str) -> None:
        names = key_of(place) if literal == place else {*key_of(place), *key_of(literal)}
        if names_store(names) or (not self.tool.read_only and any(map(is_configuration, names))):
            what = f"path {show(text)} is one of Callgate's own files by its name, of another one if not of this"
            raise Unfit(f"{what}, and no tool may change what governs it; no role and no grant lifts this")

    def _refuse_outside(self, text: str, place: str) -> None:
        for ground in self.grounds:
            for root in ground.roots:  # a loop and not any(), as every file that a tool meets is looked at
                if is_inside(place, root):
                    break
            else:
                where = name_all(map(show, ground.roots)) or "nothing"
                advice = f"name a path inside, or add its directory to scopes.{ground.family}.paths"
                allowed = "; ".join((f"{ground.family} allows {where}", *ground.void))
                raise Unfit(f"path {show(text)} leads to {show(place)}, and {allowed}; {advice}")


def _placed(entry: str, working_directory: str) -> str:
    return os.path.join(working_directory, os.path.expanduser(entry))  # noqa: PTH111, PTH118 - texts all along


def _open_to_choice(place: str, others: Mapping[str, str]) -> str | None:
    """Why a granted path would lead wherever a tool wants; None if it would not.

    A link in another granted directory can be replaced by a program there, and would be followed at the next start.
    """
    try:
        links = follow(place).links
    except PermissionError as error:
        return f"{show(place)} counts for nothing: {error}"
    for link in links:
        if any(link != real and is_inside(link, real) for other, real in others.items() if other != place):
            why = f"{show(link)} is a link in another granted directory, where tools could replace it"
            return f"{show(place)} counts for nothing: {why}; name what it leads to"
    return None


def _opened_git(place: str, entry: str, *, base: str) -> Iterator[str]:
    """What an entry opens for writing by naming it: a `.git`, what it leads to, or a repository that has none.

    To work in one does not name it: `.` opens nothing there.
    """
    real = os.path.realpath(place)
    if any(map(is_git, key_of(os.path.normpath(entry)))):
        # A file that only says where the directory is stays as it is: who may write it would choose what is opened.
        yield told_by(real) or real
    elif not is_inside(base, real) and lies_in_git(real):
        yield real


def _follow(path: str) -> tuple[str, os.stat_result | None]:
    """Where a path really leads, and what is there; nothing is, where nothing was made yet."""
    place = os.path.realpath(path)
    try:
        return place, os.lstat(place)
    except (FileNotFoundError, NotADirectoryError):
        return place, None


def _refuse_spelling(text: str) -> None:
    if "\0" in text:
        raise Unfit(f"path {show(text)} has a NUL character in it")
    if len(text) > LONGEST_PATH:
        raise Unfit(f"a path has at most {LONGEST_PATH} characters, this one {len(text)}")
    if _OTHER_MEANING.match(text):
        raise Unfit(f"path {show(text)} means something else to some tools; write it out as a plain path")


def _alternatives(text: str) -> list[str]:
    found = [text]
    too_many = text.count("{") > _MOST_BRACES
    # They differ only in what stood inside of braces: all of them have some left, or none.
    while not too_many and _BRACES.search(found[0]):
        found = [one for each in found for one in _opened(each)]
        too_many = len(found) > _MOST_ALTERNATIVES
    if too_many:
        raise Unfit(f"pattern {show(text)} has too many braces; make several calls of it")
    return found


def _opened(text: str) -> list[str]:
    before, inside, after = _BRACES.split(text, maxsplit=1)
    return [f"{before}{each}{after}" for each in inside.split(",")]


def is_pattern(text: str) -> bool:
    """Whether a tool that expands patterns would expand this."""
    return _MAGIC.search(text) is not None


def real_directory(directory: str | Path | None) -> str:
    """The working directory as relative paths see it; None is the process's own."""
    return os.path.realpath(directory or Path.cwd())
