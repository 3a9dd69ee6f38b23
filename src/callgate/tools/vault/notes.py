"""Notes: the files of one project's notes, by handles of directories, so that no link leads out of it at any moment."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass

from callgate.tools.confined import Below, Confined, Held, Spot, read_all
from callgate.tools.file_facts import digest_of
from callgate.tools.file_rights import FileRights, rights_of
from callgate.tools.replacing import beside, flush, refuse_protected, sweep, take_place, try_out, version_of
from callgate.tools.vault.names import folder_of
from callgate.tools.vault.placing import are_two_names, give_name, status_of, take_away

LARGEST = 1024 * 1024
"""What a note may have, in bytes."""
_NO_FOLDER = (FileNotFoundError, NotADirectoryError, PermissionError)


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
        self.confined = confined
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
            with self.confined.file_at(spot.folder, spot.name) as held:
                return taken(held, path)
        return None

    @contextlib.contextmanager
    def reader(self) -> Generator[Callable[[str], Note]]:
        """Reads many notes that somebody saw a moment ago; those in one folder at the least cost."""
        with Below(self.confined, self.folder) as below:

            def read(path: str) -> Note:
                with below.file(path) as held:
                    return taken(held, path)

            yield read

    def write(self, path: str, content: bytes, *, before: Note | None, point: Callable[[], None] | None = None) -> None:
        """Put a content into a note, all of it or nothing; folders on the way are made.

        Args:
            path: The note.
            content: All of it.
            before: The note as the content was worked out from.
            point: Called when everything is ready, right before it becomes visible.

        Raises:
            ChangedMeanwhile: It is not as it was.
            NotRenamed: The system does not let it be replaced.
            OSError: It cannot be written.
        """
        self.refuse_protected((path,))
        version = version_of(None if before is None else before.status)
        changed = ChangedMeanwhile(f"{path} was changed by somebody else meanwhile; nothing is written")
        with self._at(path, make=before is None) as spot:
            if version_of(spot.status) != version:
                raise changed
            with beside(spot.folder, content, like=self._rights(spot)) as name:
                if version_of(status_of(spot)) != version:
                    raise changed
                if point is not None:
                    point()
                take_place(spot.folder, name, of=spot.name, shown=path)
                flush(spot.folder.fd)

    def refuse_unwritable(self, paths: Iterable[str]) -> None:
        """Find out whether something can be written beside all of these notes; folders that are not there are not made.

        Raises:
            PermissionError: In one of the folders nothing can.
        """
        for folder in sorted({folder_of(path) for path in paths}):
            try:
                self._try_out(folder)
            except OSError as error:
                raise PermissionError(
                    f"nothing can be written in the folder {folder or 'of the notes'} ({error.strerror})"
                ) from error

    def refuse_protected(self, paths: Iterable[str]) -> None:
        """Find out whether one of these notes is protected against writing.

        Raises:
            ProtectedFile: One is.
        """
        for path in paths:
            with contextlib.suppress(FileNotFoundError, NotADirectoryError), self._at(path) as spot:
                refuse_protected(spot, path)

    def relocate(self, old: str, new: str) -> bool:
        """Give a note another path, or finish giving it; False where it is not there, or the path is taken."""
        try:
            with self._at(old) as source:
                if source.status is None:
                    return self.exists(new)
                with self._at(new, make=True) as target:
                    return give_name(source, target)
        except (FileNotFoundError, NotADirectoryError):
            return self.exists(new)

    def put_back(self, old: str, new: str) -> None:
        """Undo what `relocate` left half done: a note that has both names keeps the old one.

        Raises:
            OSError: It cannot be undone.
        """
        with (
            contextlib.suppress(FileNotFoundError, NotADirectoryError),
            self._at(old) as source,
            self._at(new) as target,
        ):
            if source.status is not None and are_two_names(source.status, target.status):
                take_away(target, source.status)
                flush(target.folder.fd)

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

    def _rights(self, spot: Spot) -> FileRights | None:
        """Who may do what with the note there; None where there is none, or none any more."""
        with contextlib.suppress(FileNotFoundError):
            if spot.status is not None:
                with self.confined.file_at(spot.folder, spot.name) as held:
                    return rights_of(held)
        return None

    def _try_out(self, folder: str) -> None:
        """Write something in a folder, or in the one that it would be made in; who only asks may be told otherwise."""
        with contextlib.ExitStack() as handles:
            held = self.folder
            with contextlib.suppress(FileNotFoundError):
                for part in folder.split("/") if folder else ():
                    held = handles.enter_context(self.confined.directory_at(held, part))
            try_out(held)

    @contextlib.contextmanager
    def _at(self, path: str, *, make: bool = False) -> Generator[Spot]:
        """Hold the folder of a note. Folders that were made are gone again if it comes to nothing."""
        *folders, name = path.split("/")
        with contextlib.ExitStack() as handles, contextlib.ExitStack() as made:
            folder = self.folder
            for part in folders:
                if make and _make(folder, part):
                    made.callback(_remove_empty, folder.fd, part)
                folder = handles.enter_context(self.confined.directory_at(folder, part))
            yield self.confined.spot_in(folder, name)
            made.pop_all()


def taken(held: Held, path: str) -> Note:
    """What is in a note that is held.

    Raises:
        TooLarge: It is larger than a note may be.
    """
    content = read_all(held.fd, LARGEST + 1)
    if len(content) > LARGEST:
        raise TooLarge(path, held.status)
    return Note(content, held.status)


def _make(folder: Held, name: str) -> bool:
    """Make a folder; whether it was not there."""
    try:
        os.mkdir(name, dir_fd=folder.fd)
    except FileExistsError:
        return False
    flush(folder.fd)
    return True


def _remove_empty(fd: int, name: str) -> None:
    with contextlib.suppress(OSError):
        os.rmdir(name, dir_fd=fd)
