"""Inventory: what lies in the directories a program may write to and is not for it to change or speak to.

Every `.git`, the sockets of other programs, and second names of Callgate's own files. Taken before a program runs, so
that these are kept from it, and again afterwards: a `.git` that is not there yet cannot be kept from being made.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

MOST_ENTRIES = 500_000
"""A directory with more in it is not handed to a program: looking through it would take longer than the program."""

Identity = tuple[int, int]
"""Device and number of a file."""


@dataclass(slots=True)
class Inventory:
    """What was found."""

    git: dict[str, tuple[int, ...]] = field(default_factory=dict[str, tuple[int, ...]])
    """Each `.git`, a directory, a file or a link, by its path: which one it is."""
    behind: list[str] = field(default_factory=list[str])
    """Where a `.git` that is a link or a file leads to."""
    hidden: list[str] = field(default_factory=list[str])
    """Sockets, and second names of Callgate's own files."""
    unseen: list[str] = field(default_factory=list[str])
    """Directories that cannot be looked into."""


def take(roots: Iterable[str], own: frozenset[Identity], *, most: int | None = MOST_ENTRIES) -> Inventory:
    """Look through directories, following no link.

    Args:
        roots: Where to look.
        own: Callgate's own files that have a second name somewhere.
        most: More entries than this are not looked at; None is afterwards, when nothing may stay unseen.

    Raises:
        PermissionError: There are more.
    """
    found = Inventory()
    numbers = {number for _, number in own}
    for seen, entry in enumerate(_entries(roots, found, open_up=most is None)):
        if most is not None and seen >= most:
            message = f"the granted directories hold more than {most} files, too many to look after"
            raise PermissionError(f"{message}; grant a smaller directory to run programs in")
        if entry.name.casefold() == ".git":
            _note_git(entry, found)
        elif _is_special(entry) or (entry.inode() in numbers and _identity(entry) in own):
            found.hidden.append(entry.path)
    return found


def own_with_second_names(closed: Iterable[str]) -> frozenset[Identity]:
    """Callgate's own files that have more than one name."""
    found: set[Identity] = set()
    for place in [each for path in closed for each in (path, *_inside(path))]:
        with contextlib.suppress(OSError):
            status = os.lstat(place)
            if stat.S_ISREG(status.st_mode) and status.st_nlink > 1:
                found.add((status.st_dev, status.st_ino))
    return frozenset(found)


def set_aside(before: Inventory, after: Inventory, *, granted: Iterable[str]) -> list[str]:
    """Rename every `.git` that was not there before, so that no git takes it for one; what was done, for people."""
    known = set(before.git.values())
    open_to_it = tuple(granted)
    said: list[str] = []
    for path, identity in after.git.items():
        if identity in known or any(path == each or path.startswith(each + os.sep) for each in open_to_it):
            continue
        said.append(f"it made {path}, which tools may not: {_rename(path)}")
    said += (f"{path} cannot be looked into" for path in after.unseen if path not in before.unseen)
    return said


def _rename(path: str) -> str:
    aside = f"{path}.set-aside-{secrets.token_hex(4)}"
    try:
        _open_up(os.path.dirname(path), os.W_OK | os.X_OK)  # noqa: PTH120 - a text all along
        os.rename(path, aside)  # noqa: PTH104
    except OSError as error:
        return f"remove it, since it could not be renamed ({error.strerror})"
    return f"it was renamed to {os.path.basename(aside)}"  # noqa: PTH119


def _open_up(place: str, wanted: int) -> None:
    """Let ourselves into a directory that a program may have closed to hide what it made there."""
    if not os.access(place, wanted):
        os.chmod(place, stat.S_IMODE(os.lstat(place).st_mode) | stat.S_IRWXU)  # noqa: PTH101 - a text all along


def _entries(roots: Iterable[str], found: Inventory, *, open_up: bool) -> Iterator[os.DirEntry[str]]:
    pending = list(roots)
    while pending:
        place = pending.pop()
        try:
            if open_up:
                _open_up(place, os.R_OK | os.X_OK)
            with os.scandir(place) as listed:
                entries = list(listed)
        except OSError:
            found.unseen.append(place)
            continue
        yield from entries
        inner = (entry for entry in entries if entry.is_dir(follow_symlinks=False))
        pending.extend(entry.path for entry in inner if entry.name.casefold() != ".git")


def _note_git(entry: os.DirEntry[str], found: Inventory) -> None:
    try:
        status = os.lstat(entry.path)
    except OSError:
        return
    # What is covered keeps its number. A link cannot be: its number may go to what is made in its place, its time not.
    since = status.st_ctime_ns if stat.S_ISLNK(status.st_mode) else 0
    found.git[entry.path] = status.st_dev, status.st_ino, since
    if entry.is_dir(follow_symlinks=False):
        # git itself listens there, for a program of its own that watches files.
        with contextlib.suppress(OSError), os.scandir(entry.path) as inner:
            found.hidden.extend(each.path for each in inner if _is_special(each))
        return
    target = os.path.realpath(entry.path) if entry.is_symlink() else _told_by(entry.path)
    if target is not None and os.path.exists(target):  # noqa: PTH110 - a text all along
        found.behind.append(target)


def _told_by(path: str) -> str | None:
    """Where a file `.git` says that the directory is."""
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - a text all along
            said = os.fsdecode(file.read(4096)).strip()
    except OSError:
        return None
    start = os.path.dirname(path)  # noqa: PTH120 - a text all along
    return os.path.realpath(os.path.join(start, said[8:])) if said.startswith("gitdir: ") else None  # noqa: PTH118


def _is_special(entry: os.DirEntry[str]) -> bool:
    if entry.is_symlink() or entry.is_dir(follow_symlinks=False) or entry.is_file(follow_symlinks=False):
        return False
    try:
        return stat.S_ISSOCK(entry.stat(follow_symlinks=False).st_mode)
    except OSError:
        return False


def _identity(entry: os.DirEntry[str]) -> Identity | None:
    try:
        status = os.lstat(entry.path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _inside(path: str) -> list[str]:
    try:
        with os.scandir(path) as entries:
            return [entry.path for entry in entries]
    except OSError:
        return []
