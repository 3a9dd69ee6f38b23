"""MountTable: which paths lead to the same place, because something is mounted more than once; and where /proc is.

A hard link is known by its file's count of names. A mount gives a whole directory another name, and nothing in it
tells; the system's own table does: of each mount which part of which file system it shows, and where.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from callgate.policy.own_files import Key, is_configuration, is_git, is_store, key_of, shows_processes
from callgate.policy.ways import is_inside, way_to

_SHOW_PROCESSES = frozenset({"proc", "debugfs", "tracefs"})
_ESCAPE = re.compile(rb"\\([0-7]{3})")
_GONE = "//deleted"
"""Stands behind what was removed since it was mounted; what was kept at such a path is kept there still."""


class Place(NamedTuple):
    """Something in a file system, whatever that is mounted as."""

    device: str
    path: str
    """From the top of the file system."""


class Mount(NamedTuple):
    """One line of the table."""

    number: str
    on: str
    """The number of the mount that it lies on."""
    shows: Place
    point: str
    """Where it is."""
    kind: str


class MountTable:
    """What is mounted, as it was when somebody looked.

    Args:
        mounts: All of it.
        top: The number of the mount that the top directory lies in; it may be none of these.
        processes: The device of /proc, if that is known otherwise.
    """

    def __init__(self, mounts: Iterable[Mount] = (), *, top: str = "", processes: Iterable[int] = ()) -> None:
        self._mounts = tuple(mounts)
        self._top = top
        self._numbered = {mount.number: mount for mount in self._mounts}
        self._on = {(mount.on, mount.point): mount for mount in self._mounts if mount.point != os.sep}
        self._showing: dict[Place, list[Mount]] = defaultdict(list)
        for mount in self._mounts:
            self._showing[mount.shows].append(mount)
        self._twice = frozenset(self._shown_twice())
        shown = [mount for mount in self._mounts if mount.kind in _SHOW_PROCESSES]
        self.of_processes = frozenset((*processes, *(_device(mount.shows.device) for mount in shown)))
        """Devices of the file systems that show what processes know: each time it is mounted, /proc has another."""
        self.process_points = tuple(mount.point for mount in shown if self._is_seen(mount))
        """Where these are mounted."""
        self._telling = frozenset(mount for mount in self._mounts if mount.shows.path != os.sep and _tells(mount))
        self.lasts = not (self._twice or self._telling) and all(map(shows_processes, self.process_points))
        """Whether what it says of paths stays so until something is mounted: else it changes with what is renamed."""
        self.points = tuple(mount.point for mount in self._twice | self._telling if self._is_seen(mount))
        """Where something is mounted that has other names, or whose name in its file system tells what it is."""
        self.holders = frozenset(map(os.path.dirname, self.points))
        """The directories that these lie in."""

    def names(self, path: str) -> tuple[str, ...]:
        """Every other path that leads to what a real path leads to."""
        mount = self._holding(path) if self._twice else None
        if mount is None or mount not in self._twice:
            return ()
        return tuple({name: None for name in self._names(_in(mount, path)) if name != path})

    def everywhere(self, paths: Iterable[str]) -> tuple[str, ...]:
        """Every other path that leads to one of these, or to something in one, there or not."""
        if not self._twice:
            return ()
        paths = tuple(paths)
        found = dict.fromkeys(name for path in paths for place in self._places(path) for name in self._shown(place))
        return tuple(name for name in found if name not in paths)

    def called(self, path: str) -> Key:
        """What the mount that a real path lies in shows, by its name in its file system, where that tells something."""
        mount = self._holding(path) if self._telling else None
        return key_of(mount.shows.path) if mount is not None and mount in self._telling else ()

    def _places(self, path: str) -> Iterator[Place]:
        """What a path leads to, and what is mounted in it."""
        mount = self._holding(path)
        if mount is not None and mount in self._twice:
            yield _in(mount, path)
        yield from (inner.shows for inner in self._twice if is_inside(inner.point, path) and self._is_seen(inner))

    def _shown(self, place: Place) -> Iterator[str]:
        yield from self._names(place)
        for mount in self._twice:
            inside = mount.shows.device == place.device and is_inside(mount.shows.path, place.path)
            if inside and self._is_seen(mount):
                yield mount.point

    def _names(self, place: Place) -> Iterator[str]:
        for mount in self._around(place):
            name = _at(mount, place)
            if self._holding(name) is mount:
                yield name

    def _around(self, place: Place) -> Iterator[Mount]:
        """Mounts that show a place, seen or not."""
        for above in dict.fromkeys(way_to(place.path)):
            yield from self._showing.get(Place(place.device, above), ())

    def _shown_twice(self) -> Iterator[Mount]:
        """Mounts that show something which others show elsewhere."""
        for mount in self._mounts:
            others = [other for other in self._around(mount.shows) if _at(other, mount.shows) != mount.point]
            yield from (mount, *others) if others else ()

    def _is_seen(self, mount: Mount) -> bool:
        """Whether nothing else is mounted over it."""
        return self._holding(mount.point) is mount

    def _holding(self, path: str) -> Mount | None:
        """The mount that a path lies in; None where the table does not have it."""
        number = self._top
        for step in way_to(path):
            while (inner := self._on.get((number, step))) is not None:
                number = inner.number
        return self._numbered.get(number)


def read(table: bytes) -> Iterator[Mount]:
    """What the lines of /proc/self/mountinfo say."""
    for line in filter(None, table.split(b"\n")):  # a point may have other characters that end lines in it
        fields = line.split(b" ")
        number, on, device, shows, point = (_text(field) for field in fields[:5])
        kind = _text(fields[fields.index(b"-", 6) + 1])
        yield Mount(number, on, Place(device, shows.removesuffix(_GONE)), point, kind)


def _tells(mount: Mount) -> bool:
    return any(is_git(part) or is_store(part) or is_configuration(part) for part in key_of(mount.shows.path))


def _text(field: bytes) -> str:
    """Blanks and their like are written by their numbers."""
    return os.fsdecode(_ESCAPE.sub(lambda found: bytes([int(found[1], 8)]), field))


def _device(text: str) -> int:
    major, _, minor = text.partition(":")
    return os.makedev(int(major), int(minor))


def _in(mount: Mount, path: str) -> Place:
    """What of the file system a path leads to that lies in a mount."""
    return Place(mount.shows.device, _joined(mount.shows.path, path.removeprefix(mount.point)))


def _at(mount: Mount, place: Place) -> str:
    """Where a mount shows that."""
    return _joined(mount.point, place.path.removeprefix(mount.shows.path))


def _joined(above: str, below: str) -> str:
    return f"{above.rstrip(os.sep)}/{below.lstrip(os.sep)}".rstrip(os.sep) or os.sep
