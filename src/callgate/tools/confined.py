"""Confined: opening files and directories by handle, so that nothing can be put between the check and the use.

Where a path leads is looked up once and is only a guess. Then the way is walked from the top, directory by directory,
each opened inside the one before and none of them through a link; what is held in the end is judged by the policy and
used by its handle. A link that somebody puts on the way meanwhile is met as a link, and refused.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Generator
from dataclasses import dataclass
from typing import NamedTuple, Self

from callgate.model.grounds import Grounds

LONGEST_PATH = 4096
_LONGEST_NAME = 255


def _flags(*names: str) -> int:
    """Ways of opening, those that the system knows."""
    return sum(getattr(os, name, 0) for name in names)  # each is a bit of its own


_IN_BETWEEN = _flags("O_PATH", "O_DIRECTORY", "O_NOFOLLOW", "O_CLOEXEC")
_DIRECTORY = _flags("O_RDONLY", "O_DIRECTORY", "O_NOFOLLOW", "O_CLOEXEC")
# A pipe that takes the place of a file must not keep the call waiting, nor a terminal become its own.
_FILE = _flags("O_RDONLY", "O_NOFOLLOW", "O_CLOEXEC", "O_NONBLOCK", "O_NOCTTY")
_NEW = _flags("O_WRONLY", "O_CREAT", "O_EXCL", "O_NOFOLLOW", "O_CLOEXEC")
_LINK_ERRORS = frozenset({errno.ELOOP, errno.EMLINK})
_MOST_HELD = 64


class Held(NamedTuple):
    """A file or directory that is open, and what it is."""

    fd: int
    place: str
    """Its real path."""
    status: os.stat_result


@dataclass(frozen=True, slots=True)
class Spot:
    """A name in a directory that is held; something may be there or not."""

    folder: Held
    name: str
    status: os.stat_result | None

    @property
    def place(self) -> str:
        """Its real path."""
        return inside(self.folder.place, self.name)


class Confined:
    """What one call may open."""

    def __init__(self, grounds: Grounds) -> None:
        self.grounds = grounds

    def show(self, place: str) -> str:
        """A real path as a model writes it: from the working directory where it lies in it."""
        base = self.grounds.directory
        if place == base:
            return "."
        return place.removeprefix(base if base.endswith("/") else base + "/")

    def locate(self, path: str) -> str:
        """Where a path leads at this moment: a guess, to be held before it is used.

        Raises:
            ValueError: It is no path.
            OSError: It changed while it was followed.
        """
        if not path or "\0" in path or len(path) > LONGEST_PATH:
            raise ValueError(f"path must have 1 to {LONGEST_PATH} characters and no NUL")
        try:
            return os.path.realpath(os.path.join(self.grounds.directory, path))  # noqa: PTH118 - `..` must stay
        except UnicodeError:
            raise ValueError(f"path {path!r} is no text that a file can be called") from None

    @contextlib.contextmanager
    def directory(self, path: str) -> Generator[Held]:
        """Hold a directory.

        Raises:
            PermissionError: It may not be touched.
            OSError: It cannot be opened, or is no directory.
        """
        with self._directory(self.locate(path)) as held:
            yield held

    @contextlib.contextmanager
    def file(self, path: str) -> Generator[Held]:
        """Hold a regular file for reading.

        Raises:
            PermissionError: It may not be touched, or is a pipe, a device or a socket.
            OSError: It cannot be opened.
        """
        with self.spot(path) as spot, self.file_at(spot.folder, spot.name) as held:
            yield held

    @contextlib.contextmanager
    def spot(self, path: str) -> Generator[Spot]:
        """Hold the directory in which a path names something, or would.

        Raises:
            PermissionError: It may not be touched.
            IsADirectoryError: It is a directory that is granted by itself.
            OSError: The directory cannot be opened.
        """
        place = self.locate(path)
        above, _, name = place.rpartition("/")
        if not name or len(os.fsencode(name)) > _LONGEST_NAME:
            raise ValueError(f"path {path!r} names no file")
        self.refuse(place, None)  # so that nobody is told what lies, or does not, where he may not go
        if self.grounds.path_refused(above or "/", None) is not None and os.path.isdir(place):  # noqa: PTH112 - a text
            # Where a grant begins: what lies above it is not what was asked for.
            raise IsADirectoryError(f"{self.show(place)} is a directory, and no file")
        with self._directory(above or "/") as folder:
            yield self.spot_in(folder, name)

    def spot_in(self, folder: Held, name: str) -> Spot:
        """A name in a directory that is held.

        Raises:
            PermissionError: It may not be touched, or is neither a file nor a directory.
        """
        place = inside(folder.place, name)
        try:
            status = os.stat(name, dir_fd=folder.fd, follow_symlinks=False)
        except FileNotFoundError:
            status = None
        if status is not None and not (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)):
            raise PermissionError(f"{self.show(place)} is {kind_of(status)}, and no file or directory")
        self.refuse(place, status)
        return Spot(folder, name, status)

    def file_at(self, folder: Held, name: str, *, seen: bool = False) -> Holding:
        """Hold a regular file of a directory that is held.

        Args:
            folder: The directory.
            name: The file's name in it.
            seen: Whether somebody saw it there as a regular file a moment ago.

        Raises:
            PermissionError: It may not be touched, or is a pipe, a device or a socket.
            OSError: It cannot be opened.
        """
        if not seen:  # looked at before it is opened: opening a pipe wakes who waits at it
            self.spot_in(folder, name)
        place = inside(folder.place, name)
        held = self._hold(name, _FILE, above=folder.fd, place=place)
        if not stat.S_ISREG(held.status.st_mode):
            os.close(held.fd)
            if stat.S_ISDIR(held.status.st_mode):
                raise IsADirectoryError(f"{self.show(place)} is a directory, and no file")
            raise PermissionError(f"{self.show(place)} is {kind_of(held.status)}, and no file")
        return Holding(held)

    def directory_at(self, folder: Held, name: str) -> Holding:
        """Hold a directory of a directory that is held.

        Raises:
            PermissionError: It may not be touched.
            OSError: It cannot be opened, or is a link or no directory.
        """
        return Holding(self._hold(name, _DIRECTORY, above=folder.fd, place=inside(folder.place, name)))

    def refuse(self, place: str, status: os.stat_result | None) -> None:
        """Say no to what may not be touched.

        Raises:
            PermissionError: With the reason.
        """
        reason = self.grounds.path_refused(place, status)
        if reason is not None:
            raise PermissionError(reason)

    @contextlib.contextmanager
    def _directory(self, place: str) -> Generator[Held]:
        *above, name = [part for part in place.split("/") if part] or ["/"]
        with self._walk(above) as fd, Holding(self._hold(name, _DIRECTORY, above=fd, place=place)) as held:
            yield held

    def _hold(self, name: str, flags: int, *, above: int, place: str) -> Held:
        """Open a name in a directory, and judge what is held then."""
        try:
            fd = os.open(name, flags, dir_fd=above)
        except OSError as error:
            with _told(place):
                raise error from None
        try:
            status = os.fstat(fd)
            self.refuse(place, status)
        except BaseException:
            os.close(fd)
            raise
        return Held(fd, place, status)

    @contextlib.contextmanager
    def _walk(self, parts: list[str]) -> Generator[int]:
        """Hold the directory at the end of these parts; no more than two are open at a time."""
        at, place = os.open("/", _IN_BETWEEN), ""
        try:
            for part in parts:
                place = f"{place}/{part}"
                with _told(place):
                    below = os.open(part, _IN_BETWEEN, dir_fd=at)
                os.close(at)
                at = below
            yield at
        finally:
            os.close(at)


class Holding:
    """Something that is held, and let go when this is left."""

    __slots__ = ("held",)

    def __init__(self, held: Held) -> None:
        self.held = held

    def __enter__(self) -> Held:
        return self.held

    def __exit__(self, *_: object) -> None:
        os.close(self.held.fd)


class Below:
    """Opens files below a directory, on ways without links; the directories on the way stay held for the next ones."""

    def __init__(self, confined: Confined, folder: Held) -> None:
        self._confined = confined
        self._folder = folder
        self._held: dict[str, Held] = {}
        """By their paths from the directory."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._leave()

    def file(self, path: str) -> Holding:
        """Hold a regular file by its path from the directory.

        Raises:
            PermissionError: It may not be touched, or is no regular file.
            OSError: It cannot be opened.
        """
        folder, name = self.at(path)
        return self._confined.file_at(folder, name, seen=True)

    def at(self, path: str) -> tuple[Held, str]:
        """The directory of a path, which is held at least until another is asked for, and the name in it.

        Raises:
            PermissionError: It may not be touched, or became a link.
            OSError: It cannot be opened.
        """
        folder, below, name = path.rpartition("/")
        _refuse_climbing(name)
        return (self._held.get(folder) or self._go(folder)) if below else self._folder, name

    def _go(self, folder: str) -> Held:
        if len(self._held) >= _MOST_HELD:
            self._leave()
        at, way = self._folder, ""
        for name in folder.split("/"):
            _refuse_climbing(name)
            way = f"{way}/{name}" if way else name
            if way not in self._held:
                self._held[way] = self._confined.directory_at(at, name).held
            at = self._held[way]
        return at

    def _leave(self) -> None:
        while self._held:
            os.close(self._held.popitem()[1].fd)


def create(folder: Held, name: str, *, mode: int = 0o666) -> int:
    """Make a new file in a directory that is held, for writing; what is there already is an error, links too."""
    with _told(inside(folder.place, name)):
        return os.open(name, _NEW, mode, dir_fd=folder.fd)


def read_all(fd: int, most: int) -> bytes:
    """What is in an open file, from its beginning, but no more than so many bytes."""
    pieces: list[bytes] = []
    at = 0
    while at < most:
        piece = os.pread(fd, min(most - at, 1 << 20), at)
        if not piece:
            break
        pieces.append(piece)
        at += len(piece)
    return b"".join(pieces)


def write_all(fd: int, data: bytes | memoryview) -> None:
    """Write all of it, however many times the system has to be asked."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def inside(folder: str, name: str) -> str:
    """The path of a name in a directory."""
    return f"{folder.rstrip('/')}/{name}"


def _refuse_climbing(name: str) -> None:
    if name in {"", ".", ".."}:
        raise ValueError(f"{name!r} is no name of something in a directory")


def kind_of(status: os.stat_result) -> str:
    """What a thing in a directory is, for people."""
    kinds = {
        stat.S_IFREG: "a file",
        stat.S_IFDIR: "a directory",
        stat.S_IFLNK: "a link",
        stat.S_IFIFO: "a pipe",
        stat.S_IFSOCK: "a socket",
    }
    return kinds.get(stat.S_IFMT(status.st_mode), "a device")


@contextlib.contextmanager
def _told(place: str) -> Generator[None]:
    """The system's errors with the whole path, and a link where none was for what it is: a change on the way."""
    try:
        yield
    except OSError as error:
        if error.errno in _LINK_ERRORS or _is_link(place, error):
            raise PermissionError(f"{place} became a link while it was opened, and is not followed") from None
        raise type(error)(error.errno, os.strerror(error.errno or 0), place) from None


def _is_link(place: str, error: OSError) -> bool:
    # Asked for a directory, the system says "not a directory" of a link.
    return error.errno == errno.ENOTDIR and os.path.islink(place)  # noqa: PTH114 - a text all along
