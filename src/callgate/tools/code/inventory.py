"""Inventory: what lies in the directories that a program gets and is not for it to change, or to read.

Every `.git` and what belongs to it elsewhere, and second names of Callgate's own files. Taken before a program runs, so
that these are kept from it, and again afterwards: a `.git` that is not there yet cannot be kept from being made.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass, field

from callgate.policy.own_files import is_configuration, is_git, is_store, part_of_key
from callgate.policy.ways import Way
from callgate.tools.code.git_folders import has_shape, led_to

MOST_ENTRIES = 500_000
"""A directory with more in it is not handed to a program: looking through it would take longer than the program."""
LONGEST_PATH = 4000
"""The kernel takes 4096, and bubblewrap puts something in front."""

Identity = tuple[int, int]
"""Device and number of a file."""
Which = tuple[int, ...]
"""These, and of a link since when it is so."""
_Pending = list[tuple[str, bool]]
"""Directories to look into, and whether only second names count there: it is git's own."""


@dataclass(slots=True)
class Inventory:
    """What was found."""

    git: dict[str, Which] = field(default_factory=dict[str, Which])
    """Each `.git`, a directory, a file or a link, by its path: which one it is."""
    behind: list[Way] = field(default_factory=list[Way])
    """Where else git keeps what belongs to them, there or not, and repositories that have no `.git`; only before."""
    second_names: list[str] = field(default_factory=list[str])
    """Of Callgate's own files."""
    configurations: dict[str, Which] = field(default_factory=dict[str, Which])
    """Files, or links, that some Callgate takes its policy from, by their paths."""
    stores: dict[str, Which] = field(default_factory=dict[str, Which])
    """Folders, or links, that some Callgate keeps its store in."""
    unseen: list[str] = field(default_factory=list[str])
    """Directories that cannot be looked into, or are not to be."""
    too_long: str | None = None
    """A path that is too long to be looked at or kept."""


def take(roots: Iterable[str], own: frozenset[Identity], *, closed: Sequence[str] = ()) -> Inventory:
    """Look through directories before a program has them, following no link.

    Args:
        roots: Where to look.
        own: Callgate's own files that have a second name somewhere.
        closed: Where nobody looks, and so no program either.

    Raises:
        PermissionError: They hold too much, or too deep, to be looked after.
    """
    look = _Look(own=own, closed=frozenset(closed))
    look.found.unseen += closed
    look.through(roots, most=MOST_ENTRIES)
    if look.found.too_long is not None:
        message = f"a path in the granted directories is too long to look after: {shown(look.found.too_long)}"
        raise PermissionError(f"{message}; remove it, or grant another directory to run programs in")
    return look.found


def take_again(roots: Iterable[str], before: Inventory) -> Inventory:
    """Look through directories when a program had them: into all of them, also those that it closed."""
    look = _Look(known=frozenset(before.git.values()), closed=frozenset(before.unseen))
    look.through(roots, most=None)
    return look.found


def own_with_second_names(closed: Iterable[str]) -> frozenset[Identity]:
    """Callgate's own files that have more than one name.

    Raises:
        PermissionError: There are too many of them to tell.
    """
    found: set[Identity] = set()
    pending = list(dict.fromkeys(closed))
    for seen, place in enumerate(pending):
        if seen >= MOST_ENTRIES:
            message = f"Callgate's own folders hold more than {MOST_ENTRIES} files, too many to look after"
            raise PermissionError(f"{message}; keep in them only what is Callgate's, such as plugins")
        try:
            status = os.stat(place)  # noqa: PTH116 - a text all along
            if stat.S_ISREG(status.st_mode) and status.st_nlink > 1:
                found.add((status.st_dev, status.st_ino))
            elif stat.S_ISDIR(status.st_mode) and not os.path.islink(place):  # noqa: PTH114
                pending += [entry.path for entry in _listed(place)]
        except OSError:
            continue
    return frozenset(found)


def identity_of(path: str) -> Identity | None:
    """Which file that is, a link for itself; None if there is none."""
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def which_of(path: str) -> Which | None:
    """Which file that is, so that what a program puts in its place is another; None if there is none."""
    try:
        status = os.lstat(path)
    except OSError:
        return None
    # What is covered keeps its number. A link cannot be: what is put in its place may get its number, not its time.
    since = (status.st_ctime_ns,) if stat.S_ISLNK(status.st_mode) else ()
    return status.st_dev, status.st_ino, *since


def shown(path: str) -> str:
    """A path for people, however long it is."""
    return path if len(path) <= 200 else f"{path[:150]}…{path[-40:]}"  # noqa: PLR2004 - a line or two


@dataclass(slots=True)
class _Look:
    """One look through directories."""

    own: frozenset[Identity] = frozenset()
    known: frozenset[Which] | None = None
    """Each `.git` that was there before the program; None when this is before."""
    closed: frozenset[str] = frozenset()
    """Directories that are not looked into, and so are not open to the program either."""
    found: Inventory = field(default_factory=Inventory)

    def through(self, roots: Iterable[str], *, most: int | None) -> None:
        pending: _Pending = [(root, False) for root in roots]
        seen = 0
        while pending:
            place, in_git = pending.pop()
            entries = self._entries(place)
            seen += len(entries)
            if most is not None and seen > most:
                message = f"the granted directories hold more than {most} files, too many to look after"
                raise PermissionError(f"{message}; grant a smaller directory to run programs in")
            if self.known is None and not in_git and has_shape({entry.name for entry in entries}):
                self.found.behind += (Way(place, ()), *led_to(place))
            for entry in entries:
                self._note(entry, pending, in_git=in_git)

    def _entries(self, place: str) -> list[os.DirEntry[str]]:
        if place in self.closed:
            return []
        if len(place) > LONGEST_PATH:
            self.found.too_long = place
            return []
        try:
            if self.known is not None:
                with holding(place) as folder:
                    open_up(folder, os.R_OK | os.X_OK)
            return _listed(place)
        except NotADirectoryError:
            return []
        except OSError as error:
            if error.errno != errno.ENOENT:
                self.found.unseen.append(place)
            return []

    def _note(self, entry: os.DirEntry[str], pending: _Pending, *, in_git: bool) -> None:
        is_directory, part = entry.is_dir(follow_symlinks=False), part_of_key(entry.name)
        if is_git(part) and not in_git:
            only_names = self._note_git(entry)
            if is_directory and (self.own or not only_names):
                pending.append((entry.path, only_names))
        elif is_directory:
            self._note_store(entry, part)
            pending.append((entry.path, in_git))
        else:
            self._note_file(entry, part)

    def _note_store(self, entry: os.DirEntry[str], part: str) -> None:
        if is_store(part) and (which := which_of(entry.path)) is not None:
            self.found.stores[entry.path] = which

    def _note_file(self, entry: os.DirEntry[str], part: str) -> None:
        if self.own and identity_of(entry.path) in self.own:
            self.found.second_names.append(entry.path)
        elif is_configuration(part) and (which := which_of(entry.path)) is not None:
            self.found.configurations[entry.path] = which
        elif entry.is_symlink():
            self._note_store(entry, part)

    def _note_git(self, entry: os.DirEntry[str]) -> bool:
        """Note it; whether it may keep what is inside, because it was there before the program."""
        if len(entry.path) > LONGEST_PATH:
            self.found.too_long = entry.path
            return True
        which = which_of(entry.path)
        if which is None:
            return True
        self.found.git[entry.path] = which
        if self.known is not None:
            # Where a new one leads does not count, nor whether that can be told: it is set aside.
            return which in self.known
        self.found.behind += led_to(entry.path)
        return True


def open_up(folder: int, wanted: int) -> None:
    """Let ourselves into a directory that a program may have closed to hide what it made there."""
    place = f"/proc/self/fd/{folder}"
    if not os.access(place, wanted):
        os.chmod(place, stat.S_IMODE(os.fstat(folder).st_mode) | stat.S_IRWXU)  # noqa: PTH101 - a text all along


@contextlib.contextmanager
def holding(name: str, *, within: int | None = None) -> Generator[int]:
    """A directory by its handle, which needs no right to read it; a link is none.

    Raises:
        OSError: It is none, or not there.
    """
    handle = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=within)
    try:
        yield handle
    finally:
        os.close(handle)


def _listed(place: str) -> list[os.DirEntry[str]]:
    with os.scandir(place) as entries:
        return list(entries)
