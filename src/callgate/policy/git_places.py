"""Git's directories under other names: behind a `.git` that is a link or a file, repositories without one, mounts.

Only what lies on the way to a path is looked at: a `.git` somewhere else that points here is not found by itself, but
what it points to has the shape of a repository.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Collection
from itertools import chain

from callgate.policy.mount_table import MountTable
from callgate.policy.own_files import is_git, key_of, part_of_key
from callgate.policy.ways import is_inside, way_to

_LONGEST_SAID = 4096
SHAPES = (("HEAD", "objects", "refs"), ("HEAD", "commondir"))
"""What makes a directory a repository, or the part of one that belongs to another working tree."""
_NAMES = frozenset(map(part_of_key, chain(*SHAPES)))


def lies_in_git(place: str) -> bool:
    """Whether a real path is, or lies in, a directory of git's that is not called `.git`."""
    return any(_has_shape(folder) or _leads_around(folder, place) for folder in way_to(place))


def is_in_git(place: str, mounts: MountTable) -> bool:
    """Whether a real path is, or lies in, a directory of git's, under whichever of its names."""
    if any(map(is_git, mounts.called(place))):
        return True
    return any(any(map(is_git, key_of(name))) or lies_in_git(name) for name in (place, *mounts.names(place)))


def completed_by(place: str, mounts: MountTable) -> str | None:
    """The directory that would become a repository with a real path in it, whose names are made one after the other."""
    for name in (place, *mounts.names(place)):
        if not _NAMES.isdisjoint(key_of(name)):  # hardly any path has one, and nothing is asked of the disk for others
            found = next(filter(_is_completed_by, way_to(name)), None)
            if found is not None:
                return found.rpartition("/")[0] or "/"
    return None


def told_by(path: str) -> str | None:
    """Where a `.git` that is a link or a file says that the directory is; None for anything else."""
    try:
        mode = os.lstat(path).st_mode
    except (OSError, ValueError):
        return None
    if stat.S_ISLNK(mode):
        return os.path.realpath(path)
    named = named_by(path) if stat.S_ISREG(mode) else None
    return None if named is None else os.path.realpath(named)


def named_by(path: str) -> str | None:
    """The path that a `.git` which is a file names, as it is written; None for anything else."""
    said = said_in(path)
    if said is None or not said.startswith("gitdir:"):
        return None
    return os.path.join(os.path.dirname(path), said.removeprefix("gitdir:").strip())  # noqa: PTH118, PTH120 - a text all along


def said_in(path: str) -> str | None:
    """The text of a small file of git's; None where there is none. To git, it ends at a NUL."""
    # A pipe that takes the file's place must not keep the call waiting.
    try:
        fd = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0))
    except OSError:
        return None
    try:
        return os.fsdecode(os.read(fd, _LONGEST_SAID).partition(b"\0")[0]).strip()
    except OSError:
        return None
    finally:
        os.close(fd)


def is_shape(names: Collection[str]) -> bool:
    """Whether a directory in which these names lie is a repository, whatever file system it is on."""
    keys = {part_of_key(name) for name in names}
    return any(all(part_of_key(name) in keys for name in shape) for shape in SHAPES)


def _is_completed_by(path: str) -> bool:
    folder, _, name = path.rpartition("/")
    there = (each for each in chain(*SHAPES) if os.path.lexists(f"{folder}/{each}"))
    return part_of_key(name) in _NAMES and is_shape((*there, name))


def _leads_around(folder: str, place: str) -> bool:
    target = told_by(os.path.join(folder, ".git"))  # noqa: PTH118 - a text all along
    return target is not None and is_inside(place, target)


def _has_shape(folder: str) -> bool:
    return any(all(os.path.lexists(f"{folder}/{name}") for name in names) for names in SHAPES)
