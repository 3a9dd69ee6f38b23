"""Together: many notes get their new links, and the disk is waited for a few times instead of once for each.

The new contents lie beside their notes, and on the disk, before the first of them takes its note's place; and that they
have taken it is on the disk before the next ones are begun. A note that somebody changed meanwhile is left as it is.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from callgate.tools.confined import Held
from callgate.tools.file_rights import rights_of
from callgate.tools.replacing import beside, flush, version_of
from callgate.tools.vault.notes import Notes, taken
from callgate.tools.vault.planning import Rewriting

T = TypeVar("T")
R = TypeVar("R")

_AT_ONCE = 16
"""To flush is to wait for the disk, and the disk flushes several at the cost of one."""
_MOST_HANDLES = 200
"""Of folders, open at a time; one note more can be the end of a long way."""
_MOST_NOTES = 250
"""Lying beside each other at a time."""


@dataclass(frozen=True, slots=True)
class Rewritten:
    """What became of it."""

    done: list[Rewriting] = field(default_factory=list[Rewriting])
    changed: list[Rewriting] = field(default_factory=list[Rewriting])
    """Somebody changed these notes meanwhile: to be tried again."""
    errors: list[OSError] = field(default_factory=list[OSError])


@dataclass(frozen=True, slots=True)
class _Place:
    """A note that is to be rewritten, in its folder, which is held."""

    rewriting: Rewriting
    folder: Held
    name: str


@dataclass(frozen=True, slots=True)
class _Fresh:
    """A new content, beside the note whose place it is to take."""

    place: _Place
    name: str
    before: os.stat_result


def rewrite_together(notes: Notes, rewritings: Iterable[Rewriting]) -> Rewritten:
    """Give every one of these notes its new links. What cannot be written stops no other."""
    result = Rewritten()
    left = iter(rewritings)
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        while _Batch(notes, pool=pool, result=result).go(left):
            pass
    return result


class _Batch:
    """As many as are done at once."""

    def __init__(self, notes: Notes, *, pool: ThreadPoolExecutor, result: Rewritten) -> None:
        self._notes = notes
        self._pool = pool
        self._result = result
        self._folders: dict[str, Held] = {"": notes.folder}
        self._touched: set[int] = set()
        """Handles of folders in which something took its place, perhaps before whoever did it was killed."""

    def go(self, left: Iterator[Rewriting]) -> bool:
        """Do the next ones; whether there were any."""
        some = False
        with contextlib.ExitStack() as handles:
            places: list[_Place] = []
            while len(places) < _MOST_NOTES and len(self._folders) < _MOST_HANDLES:
                rewriting = next(left, None)
                if rewriting is None:
                    break
                some = True
                places += self._place(rewriting, handles)
            ready = [fresh for fresh in self._all(partial(self._begin, handles=handles), places) if fresh]
            self._all(self._try_replacing, ready)
            self._all(self._flush, self._touched)
        return some

    def _all(self, work: Callable[[T], R], items: Iterable[T]) -> list[R]:
        """Do it with each; when this ends nobody is at work any more, so that handles can be closed."""
        begun = [self._pool.submit(work, item) for item in items]
        wait(begun)
        return [each.result() for each in begun]

    def _place(self, rewriting: Rewriting, handles: contextlib.ExitStack) -> list[_Place]:
        """Where the note lies; nothing where its folder has gone since, or become a link or nobody's to read."""
        above, _, name = rewriting.path.rpartition("/")
        try:
            return [_Place(rewriting, self._folder(above, handles), name)]
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            return []
        except OSError as error:
            self._result.errors.append(error)
            return []

    def _folder(self, path: str, handles: contextlib.ExitStack) -> Held:
        if path not in self._folders:
            above, _, name = path.rpartition("/")
            held = self._notes.confined.directory_at(self._folder(above, handles), name)
            self._folders[path] = handles.enter_context(held)
        return self._folders[path]

    def _begin(self, place: _Place, *, handles: contextlib.ExitStack) -> _Fresh | None:
        """Write the new content beside its note, and flush it."""
        try:
            # Looked at before it is opened, since opening a pipe wakes who waits at it; what is open then is judged.
            seen = os.stat(place.name, dir_fd=place.folder.fd, follow_symlinks=False)
            if not stat.S_ISREG(seen.st_mode):
                return None
            with self._notes.confined.file_at(place.folder, place.name, seen=True) as held:
                note, rights = taken(held, place.rewriting.path), rights_of(held)
        except (ValueError, FileNotFoundError, PermissionError, IsADirectoryError):
            return None  # since then it has gone, or become too large, or nobody's to read
        except OSError as error:
            self._result.errors.append(_of_this_note(error, place.rewriting.path))
            return None
        try:
            content = place.rewriting.apply(note.content)
            if content is None:
                self._touched.add(place.folder.fd)
                return None
            fresh = handles.enter_context(beside(place.folder, content, like=rights))
        except OSError as error:
            self._result.errors.append(error)
            return None
        return _Fresh(place, fresh, note.status)

    def _try_replacing(self, fresh: _Fresh) -> None:
        try:
            if not self._replace(fresh, at=fresh.place.folder.fd):
                self._result.changed.append(fresh.place.rewriting)
        except OSError as error:
            self._result.errors.append(error)

    def _flush(self, folder: int) -> None:
        try:
            flush(folder)
        except OSError as error:
            self._result.errors.append(error)

    def _replace(self, fresh: _Fresh, *, at: int) -> bool:
        """Whether the new content has taken its place; it is gone where it has not."""
        with contextlib.ExitStack() as stack:
            stack.callback(os.unlink, fresh.name, dir_fd=at)
            try:
                now = os.stat(fresh.place.name, dir_fd=at, follow_symlinks=False)
            except FileNotFoundError:
                now = None
            if version_of(now) != version_of(fresh.before):
                return False
            os.replace(fresh.name, fresh.place.name, src_dir_fd=at, dst_dir_fd=at)
            stack.pop_all()
        self._touched.add(at)
        self._result.done.append(fresh.place.rewriting)
        return True


def _of_this_note(error: OSError, path: str) -> OSError:
    """Why a note cannot be read. What the disk cannot give today it cannot give tomorrow, and it is only this note."""
    return OSError(f"{path} cannot be read: {error.strerror}") if error.errno == errno.EIO else error
