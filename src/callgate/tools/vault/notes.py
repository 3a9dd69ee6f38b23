"""Notes: the files of one project's notes, by handles of directories, so that no link leads out of it at any moment."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass

from callgate.tools.confined import Below, Confined, Held, Spot, read_all
from callgate.tools.file_facts import digest_of
from callgate.tools.replacing import beside, sweep, version_of
from callgate.tools.vault.names import LONGEST_PATH, NOTE, folder_of, is_plain
from callgate.tools.vault.watch import Watch

LARGEST = 1024 * 1024
"""What a note may have, in bytes."""
MOST_NOTES = 100_000
_NO_SECOND_NAMES = frozenset({errno.EPERM, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EMLINK, errno.EXDEV})
_NO_FOLDER = (FileNotFoundError, NotADirectoryError, PermissionError)

Stamp = int
"""Differs when a file was changed: made of its times, by its own word and by the system's, its size and its number.

One number, since a search looks at the stamps of all notes: thousands of tuples would wake the garbage collector.
"""


@dataclass(frozen=True, slots=True)
class Note:
    """A note as it was read."""

    content: bytes
    status: os.stat_result

    @property
    def digest(self) -> str:
        """What tells this content from any other."""
        return digest_of(self.content)


class TooLarge(ValueError):
    """A file has more bytes than a note may have."""

    def __init__(self, path: str, status: os.stat_result) -> None:
        super().__init__(f"path {path!r} has more than {LARGEST} bytes, and is too large for a note")
        self.status = status


class ChangedMeanwhile(BlockingIOError):
    """Somebody else changed a note between our look and our writing; nothing was written."""


class Notes:
    """The notes below one folder."""

    def __init__(self, confined: Confined, folder: Held) -> None:
        self._confined = confined
        self.folder = folder

    def read(self, path: str) -> Note | None:
        """A note, or None where there is none.

        Raises:
            TooLarge: It is larger than a note may be.
            OSError: It cannot be read, or is a link.
        """
        with contextlib.suppress(FileNotFoundError, NotADirectoryError), self._at(path) as spot:
            if spot.status is None:
                return None
            with self._confined.file_at(spot.folder, spot.name) as held:
                return _taken(held, path)
        return None

    @contextlib.contextmanager
    def reader(self) -> Generator[Callable[[str], Note]]:
        """Reads many notes that somebody saw a moment ago; those in one folder at the least cost."""
        with Below(self._confined, self.folder) as below:

            def read(path: str) -> Note:
                with below.file(path) as held:
                    return _taken(held, path)

            yield read

    def stamps(self, watch: Watch) -> dict[str, Stamp]:
        """Every note there is.

        Args:
            watch: Told of every folder before it is looked at.

        Raises:
            ValueError: There are too many.
        """
        found: dict[str, Stamp] = {}
        self._look(self.folder, "", found=found, watch=watch)
        for path in [path for path, stamp in found.items() if not stamp or len(path) > LONGEST_PATH]:
            del found[path]
        return found

    def write(self, path: str, content: bytes, *, before: Note | None, point: Callable[[], None] | None = None) -> None:
        """Put a content into a note, all of it or nothing; folders on the way are made.

        Args:
            path: The note.
            content: All of it.
            before: The note as the content was worked out from.
            point: Called when everything is ready, right before it becomes visible.

        Raises:
            ChangedMeanwhile: It is not as it was.
            OSError: It cannot be written.
        """
        status = None if before is None else before.status
        with self._at(path, make=before is None) as spot, beside(spot.folder, content, like=status) as name:
            if version_of(spot.status) != version_of(status) or version_of(_status(spot)) != version_of(status):
                raise ChangedMeanwhile(f"{path} was changed by somebody else meanwhile; nothing is written")
            if point is not None:
                point()
            os.replace(name, spot.name, src_dir_fd=spot.folder.fd, dst_dir_fd=spot.folder.fd)
            os.fsync(spot.folder.fd)

    def relocate(self, old: str, new: str) -> bool:
        """Give a note another path, or finish giving it; False where it is not there, or the path is taken."""
        try:
            with self._at(old) as source:
                if source.status is None:
                    return self.exists(new)
                with self._at(new, make=True) as target:
                    return _give_name(source, target)
        except (FileNotFoundError, NotADirectoryError):
            return self.exists(new)

    def exists(self, path: str) -> bool:
        """Whether something is there."""
        with contextlib.suppress(FileNotFoundError, NotADirectoryError), self._at(path) as spot:
            return spot.status is not None
        return False

    def sweep(self, paths: Iterable[str]) -> None:
        """Remove what was left unfinished beside these notes."""
        for folder in {folder_of(path) for path in paths}:
            with contextlib.suppress(*_NO_FOLDER), self._at(f"{folder}/x" if folder else "x") as spot:
                sweep(spot.folder)

    @contextlib.contextmanager
    def _at(self, path: str, *, make: bool = False) -> Generator[Spot]:
        """Hold the folder of a note. Folders that were made are gone again if it comes to nothing."""
        *folders, name = path.split("/")
        with contextlib.ExitStack() as handles, contextlib.ExitStack() as made:
            folder = self.folder
            for part in folders:
                if make and _make(folder, part):
                    made.callback(_remove_empty, folder.fd, part)
                folder = handles.enter_context(self._confined.directory_at(folder, part))
            yield self._confined.spot_in(folder, name)
            made.pop_all()

    def _look(self, folder: Held, prefix: str, *, found: dict[str, Stamp], watch: Watch) -> None:
        below: list[str] = []
        watch.add(folder.fd)
        with os.scandir(folder.fd) as entries:
            for entry in entries:
                if not is_plain(entry.name):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    below.append(entry.name)
                elif entry.name.endswith(NOTE):
                    found[prefix + entry.name] = _stamp(entry)
        if len(found) > MOST_NOTES:
            raise ValueError(f"there are more than {MOST_NOTES} notes in this project; put some into another")
        for name in below:
            if len(prefix) + len(name) < LONGEST_PATH:
                # A link in its place is not followed; what may not be opened holds no notes of ours.
                with contextlib.suppress(*_NO_FOLDER), self._confined.directory_at(folder, name) as held:
                    self._look(held, f"{prefix}{name}/", found=found, watch=watch)


def _taken(held: Held, path: str) -> Note:
    content = read_all(held.fd, LARGEST + 1)
    if len(content) > LARGEST:
        raise TooLarge(path, held.status)
    return Note(content, held.status)


def _stamp(entry: os.DirEntry[str]) -> Stamp:
    """The stamp of a regular file; 0 for what is none, or went away."""
    try:
        status = entry.stat(follow_symlinks=False)
    except FileNotFoundError:
        return 0
    if not stat.S_ISREG(status.st_mode):
        return 0
    # The hash of whole numbers is the same in every process.
    return hash((status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino))


def _give_name(source: Spot, target: Spot) -> bool:
    if target.status is not None and version_of(target.status) != version_of(source.status):
        return False
    if target.status is None and not _link(source, target):
        return False
    with contextlib.suppress(FileNotFoundError):
        os.unlink(source.name, dir_fd=source.folder.fd)
    os.fsync(target.folder.fd)
    os.fsync(source.folder.fd)
    return True


def _link(source: Spot, target: Spot) -> bool:
    """A second name for a file, never in the place of another."""
    try:
        os.link(
            source.name,
            target.name,
            src_dir_fd=source.folder.fd,
            dst_dir_fd=target.folder.fd,
            follow_symlinks=False,
        )
    except FileExistsError:
        return False
    except OSError as error:
        if error.errno not in _NO_SECOND_NAMES:
            raise
        os.rename(source.name, target.name, src_dir_fd=source.folder.fd, dst_dir_fd=target.folder.fd)
    return True


def _status(spot: Spot) -> os.stat_result | None:
    try:
        return os.stat(spot.name, dir_fd=spot.folder.fd, follow_symlinks=False)
    except FileNotFoundError:
        return None


def _make(folder: Held, name: str) -> bool:
    """Make a folder; whether it was not there."""
    try:
        os.mkdir(name, dir_fd=folder.fd)
    except FileExistsError:
        return False
    os.fsync(folder.fd)
    return True


def _remove_empty(fd: int, name: str) -> None:
    with contextlib.suppress(OSError):
        os.rmdir(name, dir_fd=fd)
