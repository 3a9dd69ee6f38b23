"""Enclosure: the granted directories as a program in the sandbox gets them, with what is not for it covered.

One rule for all that is kept: it is a mount, and so is every directory on the way to it, because a mount can neither be
renamed nor replaced. What cannot be kept so, because a link leads to it, is refused.
"""

from __future__ import annotations

import contextlib
import os
from asyncio import Future
from collections import Counter
from collections.abc import Container, Generator, Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import chain

from callgate.model.grounds import Grounds
from callgate.policy.mounted import mounted
from callgate.policy.ways import follow, is_inside, parts_of
from callgate.tools.code import code_links
from callgate.tools.code.aside import Spared
from callgate.tools.code.ending import Ending
from callgate.tools.code.git_folders import is_repository
from callgate.tools.code.git_links import second_names
from callgate.tools.code.inventory import Identity, Inventory, identity_of, own_with_second_names, shown, take
from callgate.tools.code.links import fixed
from callgate.tools.code.mounts import SYSTEM, between, cover, of_system, usable
from callgate.tools.code.others import Others
from callgate.tools.code.second_mounts import SecondMounts
from callgate.tools.code.stand_ins import Covers, standing
from callgate.tools.code.unfinished import Word, Written, finish_left, told_or_left, written_down

LONGEST = 600.0
"""Seconds; no program runs for longer."""
_CLOSED_AT_LAST = ("--remount-ro", "/")
"""Until then places for what is shown can be made in the sandbox's own root."""
_MOST_OTHERS = 1000
"""Each is a mount, and these take time."""
_MOST_MOUNTS = 2000
"""Of all kinds: so many take some seconds. Each is up to four words, and of these bubblewrap takes 9,000."""


@dataclass(slots=True)
class Enclosure:
    """Options of bubblewrap for one program, and what has to be said about it afterwards."""

    options: list[str]
    grounds: Grounds
    covered: dict[str, Identity | None] = field(default_factory=dict[str, "Identity | None"])
    """Callgate's own places that are kept from it, and which file each is; None where there is none."""
    hidden: tuple[str, ...] = ()
    """What is there, and of which it sees nothing."""
    notes: list[str] = field(default_factory=list[str])
    word: Word = field(default_factory=Word)
    """What of these another call tells where this one cannot."""
    written: Written | None = None
    """Where that is which has to be known afterwards; who may only read leaves nothing to know."""
    lasting: Future[None] | None = None
    """That this gets to the disk: no program begins before."""

    def show(self, path: str, *, at: str) -> None:
        """Let the program read what lies there at another path, one that is none of the machine's."""
        self.options += ("--ro-bind", path, at)

    def runs(self, init: int) -> None:
        """Note the first process of a sandbox in it, before its program begins."""
        if self.written is not None:
            self.written.runs(init)

    def words(self) -> tuple[str, ...]:
        """All of them, as bubblewrap takes them: in this order."""
        return (*self.options, *_CLOSED_AT_LAST)


@contextlib.contextmanager
def enclosed(
    grounds: Grounds, *, writable: Sequence[str], readable: Sequence[str] = (), seconds: float = LONGEST
) -> Generator[Enclosure]:
    """Look after directories while a program has them. Slow for large ones: for a thread.

    What a Callgate that is gone has left to do is done first, in its directories; not for who may only read.

    Args:
        grounds: What Callgate keeps for itself, and which `.git` may be written to.
        writable: Real directories that the program may change.
        readable: Real directories, or files, that it may only read.
        seconds: How long all that is run in it may take.

    Raises:
        NoEffect: What is to be known of them afterwards cannot be kept; says why.
        PermissionError: They cannot be looked after; says why.
    """
    _refuse_ways(grounds.ways_to_code, writable)
    own = _own_places(grounds.closed, writable)
    _refuse_own(own, (*writable, *readable))
    word = Word(finish_left(grounds.closed) if writable else [])
    with told_or_left(word), contextlib.ExitStack() as memory:
        mounts = SecondMounts.within((*SYSTEM, *readable, *writable), mounted())
        before = _look(grounds, mounts, writable=writable, readable=readable)
        git = [*_git_places(before, writable), *_git_mounts(mounts, granted=grounds.git)]
        others = Others.among(before, writable=writable, readable=readable, mounts=mounts.mounts)
        ending = _ending(before, others, git=git, writable=writable, spared=Spared(grounds.git, own))
        kept = [path for path in own if any(is_inside(path, root) for root in (*SYSTEM, *readable, *writable))]
        kept += _absent(grounds.code, writable)
        with standing(kept, writable) as covers:
            layout = _Layout(writable=writable, readable=readable, mounts=mounts)
            layout.keep_git(before, git, granted=grounds.git)
            layout.keep_git_links(before)
            layout.keep_code(grounds.code)
            layout.keep_code_links(grounds.code)
            layout.keep_others(others)
            layout.keep_own(covers, before.second_names)
            layout.hide_processes()
            enclosure = _as_laid_out(layout, covers, grounds=grounds, word=word)
            if ending.roots:
                enclosure.written = memory.enter_context(written_down(ending, seconds=seconds, word=word))
            yield enclosure
        if writable:
            word.notes += ending.finish() if word.is_heard else ending.finish_for_another()
            enclosure.notes += [*layout.notes, *word.notes]


def _as_laid_out(layout: _Layout, covers: Covers, *, grounds: Grounds, word: Word) -> Enclosure:
    covered = {path: identity_of(path) for path in covers.covered}
    hidden = layout.hidden(but=covers.made)
    return Enclosure(layout.options(), grounds, covered=covered, hidden=hidden, word=word)


def _look(grounds: Grounds, mounts: SecondMounts, *, writable: Sequence[str], readable: Sequence[str]) -> Inventory:
    second = own_with_second_names(grounds.closed)
    looked_through = _looked_through(grounds, writable=writable, also=readable if second else ())
    before = take(looked_through, second, closed=mounts.processes)
    mounts.note(before)
    return before


def _ending(
    before: Inventory, others: Others, *, git: Sequence[str], writable: Sequence[str], spared: Spared
) -> Ending:
    absent = [path for path in (*git, *others.policies, *others.stores) if not os.path.lexists(path)]
    roots = {root: which for root in writable if os.path.isdir(root) and (which := identity_of(root))}  # noqa: PTH112
    return Ending(roots=roots, before=before, absent=tuple(absent), links=others.links, spared=spared)


def granted(grounds: Grounds) -> tuple[str, ...]:
    """The directories that a tool may hand to a program.

    Raises:
        PermissionError: There is none.
    """
    return usable(grounds.roots, grounds.directory)


class _As(Enum):
    """How a program gets a place."""

    OPEN = "--bind"
    READ = "--ro-bind"
    STEP = "step"
    """As what it lies in, and fixed to where it is."""
    HIDDEN = "hidden"


class _Layout:
    """What a program gets, path by path; what lies deeper counts for itself."""

    def __init__(self, *, writable: Sequence[str], readable: Sequence[str], mounts: SecondMounts) -> None:
        self._writable = writable
        self._mounts = mounts
        self.places = dict.fromkeys(readable, _As.READ) | dict.fromkeys(writable, _As.OPEN)
        self._opened: list[str] = []
        self._shut_for: dict[str, tuple[str, str]] = {}
        """Why each can only be read, and what it lies in."""
        self.notes: list[str] = []

    def keep_git(self, before: Inventory, elsewhere: Sequence[str], *, granted: Sequence[str]) -> None:
        """Let git's directories only be read, but those that are granted."""
        self._opened = opened = [path for path in self._there(granted) if self._is_where_it_was(path)]
        here = [path for path in before.git if not os.path.islink(path)]  # noqa: PTH114 - a text all along
        for path in self._there((*here, *elsewhere, *before.unseen)):
            if not any(is_inside(path, each) for each in opened):
                self._shut(path, "it is a git repository")
        # A directory `.git` takes what is put over it along, and a new one in its place is found afterwards.
        for path in (*self._there((*elsewhere, *before.unseen)), *opened):
            self._fix(path)
        for root in self._open_roots():
            if self._mounts.is_of_git(root, granted=granted):
                self._shut(root, "it lies in a git repository")
        self.places |= dict.fromkeys(opened, _As.OPEN)

    def keep_git_links(self, before: Inventory) -> None:
        """Let what lies in git's directories only be read under its other names, too."""
        if not self._writable:
            return
        here = [path for path in before.git if not os.path.islink(path)]  # noqa: PTH114 - a text all along
        elsewhere = [way.real for way in before.behind if is_repository(way.real)]
        closed = self._mounts.processes
        for path in second_names((*here, *elsewhere), self._writable, granted=self._opened, closed=closed):
            self._shut(path, "it is a hard link of a file in a git repository")

    def keep_code(self, code: Iterable[str]) -> None:
        """Let what Callgate runs from only be read and started."""
        code = tuple(code)
        inside = [root for root in self._open_roots() if any(is_inside(root, place) for place in code)]
        for path in dict.fromkeys((*inside, *self._there(code))):
            self._shut(path, "Callgate runs from it")
            self._fix(path)

    def keep_code_links(self, code: Sequence[str]) -> None:
        """Let what Callgate runs from only be read under its other names, too."""
        roots, closed = self._open_roots(), self._mounts.processes
        twice = bool(self._mounts.points)
        for path in code_links.second_names(code, roots, opened=self._opened, closed=closed, seen_twice=twice):
            self._shut(path, "it is a hard link of what Callgate runs from, or holds such")

    def keep_others(self, others: Others) -> None:
        """Let what governs another Callgate only be read, and hide its store; links to them stay where they are."""
        files, folders = self._there(others.policies), self._there(others.stores)
        only_read = [path for path in others.only_read if os.path.exists(path)]  # noqa: PTH110 - a text all along
        if len(files) + len(folders) + len(only_read) > _MOST_OTHERS:
            message = (
                f"the granted directories hold files of more than {_MOST_OTHERS} Callgates, too many to look after"
            )
            one = shown((*files, *folders, *only_read)[-1])
            raise PermissionError(
                f"{message}, such as {one}; remove them, or grant a smaller directory to run programs in"
            )
        for path in (*files, *folders):
            self._shut(path, "it is another Callgate's")
        for path in (*files, *folders, *(link.path for link in others.links)):
            self._fix(path)
        are, closed = "are hard links of what governs another Callgate; make copies of them", self._mounts.processes
        for path in second_names(files, self._writable, granted=(), closed=closed, are=are):
            self._shut(path, "it is a hard link of what governs another Callgate")
        self.places |= dict.fromkeys((*folders, *only_read), _As.HIDDEN)

    def keep_own(self, covers: Covers, second_names: Iterable[str]) -> None:
        """Hide Callgate's own files, where they are and under other names."""
        for path, kept in covers.shut.items():
            self._shut(path, f"{kept} is Callgate's own, and nothing could be put in its place")
        for path in covers.covered:
            self._fix(path)
        # What is only to be read, and is not there, cannot be made either.
        hidden = [path for path in (*covers.covered, *second_names) if os.path.exists(path)]  # noqa: PTH110
        self.places |= dict.fromkeys(hidden, _As.HIDDEN)

    def hide_processes(self) -> None:
        """Hide what shows them: the sandbox has a /proc of its own."""
        for path in self._mounts.processes:
            self._fix(path)
            self.places[path] = _As.HIDDEN

    def hidden(self, *, but: Container[str]) -> tuple[str, ...]:
        """What it sees nothing of, but for what only stands in for something."""
        return tuple(path for path, how in self.places.items() if how is _As.HIDDEN and path not in but)

    def options(self) -> list[str]:
        """What lies deeper comes later, and so on top.

        Raises:
            PermissionError: It is too much.
        """
        mounts: list[tuple[str, ...]] = []
        inside: list[tuple[str, _As]] = []
        for path in sorted(self.places, key=parts_of):
            while inside and not is_inside(path, inside[-1][0]):
                inside.pop()
            if option := self._option(path, inside):
                mounts.append(option)
        if len(mounts) > _MOST_MOUNTS:
            raise PermissionError(self._too_many(len(mounts)))
        return [*of_system(), *chain.from_iterable(mounts)]

    def _too_many(self, mounts: int) -> str:
        """Told by what there is the most of, and where the most of it lies together."""
        message = f"to keep what is kept from programs takes {mounts} mounts, and at most {_MOST_MOUNTS} are made"
        for (why, folder), count in Counter(self._shut_for.values()).most_common(1):
            message += f"; {count} of them in {shown(folder)} alone ({why})"
        return f"{message}: remove what is not needed, or grant a smaller directory to run programs in"

    def _option(self, path: str, inside: list[tuple[str, _As]]) -> tuple[str, ...]:
        around = inside[-1][1] if inside else _As.READ
        how = self.places[path]
        if around is _As.HIDDEN or (how is _As.STEP and around is _As.READ):
            return ()
        if how is _As.STEP:
            return (_As.OPEN.value, path, path)
        inside.append((path, how))
        return cover(path) if how is _As.HIDDEN else (how.value, path, path)

    def _shut(self, path: str, why: str) -> None:
        if path in self._writable:
            self.notes.append(f"{path} could only be read: {why}")
        self._shut_for[path] = why, os.path.dirname(path)  # noqa: PTH120 - a text all along
        self.places[path] = _As.READ

    def _fix(self, path: str) -> None:
        """Fix the directories on the way: they could be renamed, and others made instead; a mount cannot."""
        steps = (step for root in self._writable if is_inside(path, root) for step in between(path, root))
        for step in steps:
            if os.path.lexists(step):
                self.places.setdefault(step, _As.STEP)

    def _is_where_it_was(self, path: str) -> bool:
        """Whether what was granted is there, and no link to something else; what is not is told."""
        try:
            is_real = follow(path).real == path
        except PermissionError:
            is_real = False
        if not is_real:
            self.notes.append(f"{path} is granted and was not open: a link leads elsewhere from there now")
        return is_real

    def _open_roots(self) -> list[str]:
        return [root for root in self._writable if self.places[root] is _As.OPEN]

    def _there(self, paths: Iterable[str]) -> list[str]:
        """Those that are there, in a directory that can be written to."""
        there = [path for path in paths if any(is_inside(path, root) for root in self._writable)]
        return [path for path in there if os.path.exists(path)]  # noqa: PTH110 - a text all along


def _looked_through(grounds: Grounds, *, writable: Sequence[str], also: Sequence[str]) -> list[str]:
    """All that is granted: a store may lie there, and git's files have a second name in what can be written."""
    places = dict.fromkeys((*writable, *granted(grounds), *also))
    return [place for place in places if not any(is_inside(place, other) for other in places if other != place)]


def _own_places(closed: Iterable[str], writable: Sequence[str]) -> list[str]:
    """Where Callgate's own files really are, outermost first, and none that lies in another."""
    places: list[str] = []
    for path in sorted(fixed([(path, follow(path)) for path in closed], writable), key=len):
        if not any(is_inside(path, place) for place in places):
            places.append(path)
    return places


def _git_places(before: Inventory, writable: Sequence[str]) -> list[str]:
    """Where git keeps what belongs to a working tree elsewhere, in what a program may write to."""
    real = fixed([(way.real, way) for way in before.behind], writable)
    return [path for path in dict.fromkeys(real) if any(is_inside(path, root) for root in writable)]


def _git_mounts(mounts: SecondMounts, *, granted: Sequence[str]) -> list[str]:
    """Where something that is git's is mounted beside it."""
    return [point for point in mounts.points if mounts.is_of_git(point, granted=granted)]


def _absent(paths: Iterable[str], writable: Sequence[str]) -> list[str]:
    """Those that are not there, where a program could make them."""
    inside = [path for path in paths if any(is_inside(path, root) for root in writable)]
    return [path for path in inside if not os.path.lexists(path)]


def _refuse_ways(links: Iterable[str], writable: Sequence[str]) -> None:
    for link in links:
        if any(is_inside(link, root) for root in writable):
            message = f"{link} is a link, which a program could replace, and Callgate was started over it"
            advice = f"start Callgate from where it leads to ({os.path.realpath(link)}), or run programs elsewhere"
            raise PermissionError(f"{message}; {advice}")


def _refuse_own(own: Iterable[str], given: Iterable[str]) -> None:
    for path in given:
        for place in own:
            if is_inside(path, place):
                message = f"{path} lies in {place}, which is Callgate's own"
                raise PermissionError(f"{message}; run programs in another directory")
