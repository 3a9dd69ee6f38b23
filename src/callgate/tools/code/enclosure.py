"""Enclosure: the granted directories as a program in the sandbox gets them, with what is not for it covered.

Callgate's own files are covered where they are, and where they are not yet: something empty stands in for them while a
program runs, because only over what exists can something be put.
"""

from __future__ import annotations

import contextlib
import os
import stat
import threading
from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass, field

from callgate.model.grounds import Grounds
from callgate.tools.code.inventory import Inventory, own_with_second_names, set_aside, take
from callgate.tools.code.mounts import between, cover, is_inside, of_system, usable

_BESIDE_A_DATABASE = ("-wal", "-shm", "-journal", ".owners")
_READ_AS_NOTHING = (*_BESIDE_A_DATABASE, ".yaml", ".yml")
"""Where a file stands in: what reads these takes an empty one for none. Elsewhere it is a directory, which nobody can
write to by mistake, and which is only taken away while it is empty."""


@dataclass(slots=True)
class Enclosure:
    """Options of bubblewrap for one program, and what has to be said about it afterwards."""

    options: list[str]
    notes: list[str] = field(default_factory=list[str])


@contextlib.contextmanager
def enclosed(grounds: Grounds, *, writable: Sequence[str], readable: Sequence[str] = ()) -> Generator[Enclosure]:
    """Look after directories while a program has them. Slow for large ones: for a thread.

    Args:
        grounds: What Callgate keeps for itself, and which `.git` may be written to.
        writable: Real directories that the program may change.
        readable: Real directories, or files, that it may only read.

    Raises:
        PermissionError: They cannot be looked after; says why.
    """
    own = own_with_second_names(grounds.closed)
    before = take(writable, own)
    kept = [path for path in _own_places(grounds.closed) if any(is_inside(path, r) for r in (*readable, *writable))]
    _refuse_links(kept, writable)
    with _STAND_INS.standing(kept, writable) as covered:
        options = _options(grounds, before, writable=writable, readable=readable, covered=covered)
        yield (enclosure := Enclosure(options))
    if writable:
        enclosure.notes += set_aside(before, take(writable, own, most=None), granted=grounds.git)


def granted(grounds: Grounds) -> tuple[str, ...]:
    """The directories that a tool may hand to a program.

    Raises:
        PermissionError: There is none.
    """
    return usable(grounds.roots, grounds.directory)


def _options(
    grounds: Grounds, before: Inventory, *, writable: Sequence[str], readable: Sequence[str], covered: list[str]
) -> list[str]:
    options = list(of_system())
    for path in readable:
        options += ("--ro-bind", path, path)
    for path in (*writable, *_steps(covered, writable)):
        options += ("--bind", path, path)
    for path in _among((*_not_links(before.git), *before.behind), writable):
        options += ("--ro-bind", path, path)
    for path in _among(grounds.git, writable):
        options += ("--bind", path, path)
    for path in (*before.hidden, *covered):
        # What is only to be read, and is not there, cannot be made either.
        options += cover(path) if os.path.exists(path) else ()  # noqa: PTH110 - a text all along
    options += ("--remount-ro", "/")
    return options


def _steps(covered: Iterable[str], writable: Sequence[str]) -> list[str]:
    """The directories on the way to files of ours: they could be renamed, and others made instead; a mount cannot."""
    steps = {step for path in covered for root in writable if is_inside(path, root) for step in between(path, root)}
    return sorted(step for step in steps if os.path.isdir(step))  # noqa: PTH112 - a text all along


def _among(paths: Iterable[str], writable: Sequence[str]) -> list[str]:
    """Those that are there, in a directory that can be written to."""
    there = [path for path in paths if any(is_inside(path, root) for root in writable)]
    return [path for path in there if os.path.exists(path)]  # noqa: PTH110 - a text all along


def _own_places(closed: Iterable[str]) -> list[str]:
    """Where Callgate's own files really are, outermost first, and none that lies in another."""
    places: list[str] = []
    for path in sorted(closed, key=len):
        parent = os.path.dirname(path)  # noqa: PTH120 - a text all along
        if os.path.realpath(parent) == parent and not any(is_inside(path, place) for place in places):
            places.append(path)
    return places


def _refuse_links(kept: Iterable[str], writable: Iterable[str]) -> None:
    for path in kept:
        if os.path.islink(path) and any(is_inside(path, root) for root in writable):  # noqa: PTH114 - a text all along
            message = f"{path} is a link, which a program could replace"
            raise PermissionError(f"{message}; put the file itself there, or run programs in another directory")


def _not_links(paths: Iterable[str]) -> list[str]:
    return [path for path in paths if not os.path.islink(path)]  # noqa: PTH114 - a text all along


class _StandIns:
    """Empty things where files of ours are not yet; programs that run at the same time share them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users: dict[str, int] = {}
        self._made: dict[str, int] = {}

    @contextlib.contextmanager
    def standing(self, kept: Iterable[str], writable: Sequence[str]) -> Generator[list[str]]:
        """What is to be covered for these paths: what is there, or what stands in for it or for a directory above."""
        held: list[str] = []
        covered: list[str] = []
        try:
            for path in kept:
                with self._lock:
                    covered.append(self._hold(path, writable, held=held))
            yield list(dict.fromkeys(covered))
        finally:
            with self._lock:
                for path in reversed(held):
                    self._let_go(path)

    def _hold(self, path: str, writable: Sequence[str], *, held: list[str]) -> str:
        for root in writable:
            for step in (*between(path, root), path) if is_inside(path, root) else ():
                if step in self._made or (not os.path.lexists(step) and self._make(step)):
                    self._users[step] = self._users.get(step, 0) + 1
                    held.append(step)
                    return step
        return path

    def _make(self, path: str) -> bool:
        try:
            self._made[path] = _make(path)
        except OSError:
            # Who may not make it here may not there either: a program has fewer rights than we.
            return False
        return True

    def _let_go(self, path: str) -> None:
        self._users[path] -= 1
        if not self._users[path]:
            del self._users[path]
            _take_away(path, self._made.pop(path))


def _make(path: str) -> int:
    if path.endswith(_READ_AS_NOTHING):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600))
    else:
        os.mkdir(path)  # noqa: PTH102 - a text all along
    return os.lstat(path).st_ino


def _take_away(path: str, inode: int) -> None:
    with contextlib.suppress(OSError):
        status = os.lstat(path)
        if status.st_ino == inode and stat.S_ISDIR(status.st_mode):
            os.rmdir(path)  # noqa: PTH106 - a text all along
        elif status.st_ino == inode and not status.st_size:
            os.unlink(path)  # noqa: PTH108 - a text all along


_STAND_INS = _StandIns()
