"""Sight: every note that lies in a folder, kept up by looking at what the system says has changed, and at little else.

Where the system tells nothing, everything is looked at. It does not tell of a file that is changed by a second name
which it has elsewhere, or while a program has it mapped into its memory: so files with a second name are looked at
every time, and of all others some, in turn, for as long as nobody notices.
"""

from __future__ import annotations

import contextlib
import os
import stat
import time
from collections.abc import Iterable

from callgate.tools.confined import Below, Held
from callgate.tools.vault.names import LONGEST_PATH, NOTE, is_plain
from callgate.tools.vault.notes import Notes
from callgate.tools.vault.watch import Told, Watch

MOST_NOTES = 100_000
_NO_FOLDER = (FileNotFoundError, NotADirectoryError, PermissionError)
_MOST_FOLDERS = 16
"""When so many folders came or went, looking at everything costs no more."""
_IN_TURN = 100
_UNNOTICED = 0.001
"""Seconds."""

Stamp = int
"""Differs when a file was changed: made of its times, by its own word and by the system's, its size and its number.

One number, since a search looks at the stamps of all notes: thousands of tuples would wake the garbage collector.
"""


class Sight:
    """The notes below one folder, as they were at the last look. For one at a time."""

    def __init__(self) -> None:
        self.stamps: dict[str, Stamp] = {}
        """Of every note. Not to be changed by others."""
        self._watch: Watch | None = None
        self._of: object = None
        self._twice: set[str] = set()
        self._turns: list[str] = []

    def look(self, notes: Notes) -> set[str] | None:
        """What may have changed since the last look; None: everything.

        Raises:
            ValueError: There are too many notes.
            OSError: The folder cannot be looked at.
        """
        which = _which(notes)
        told = self._watch.told() if self._watch is not None and self._of == which else None
        try:
            if told is not None and len(told.directories) <= _MOST_FOLDERS:
                return self._look_again(notes, told)
            self._look_anew(notes)
            self._of = which
        except BaseException:
            self.rest()
            raise
        return None

    def rest(self) -> None:
        """Let go of what it holds open; the next look is at everything."""
        if self._watch is not None:
            self._watch.close()
        self._watch = None

    def _look_anew(self, notes: Notes) -> None:
        self.rest()
        self.stamps, self._twice, self._turns = {}, set(), []
        watch = Watch()
        self._enter(notes, notes.folder, prefix="", watch=watch)
        self._watch = watch

    def _look_again(self, notes: Notes, told: Told) -> set[str]:
        assert self._watch is not None  # noqa: S101 - it told
        changed = {path for path in told.files if _is_note(path)}
        for folder in told.directories:
            changed |= self._forget(f"{folder}/")
            self._watch.forget(f"{folder}/")
        with Below(notes.confined, notes.folder) as below:
            for folder in filter(_is_plain, told.directories):
                with contextlib.suppress(*_NO_FOLDER):
                    above, name = below.at(folder)
                    self._go_into(notes, above, prefix=folder.removesuffix(name), name=name, watch=self._watch)
                changed.update(self._below(f"{folder}/"))
            self._see(below, sorted(changed))
            changed |= self._see(below, sorted(self._twice))
            changed |= self._take_turns(below)
        _refuse_too_many(self.stamps)
        return changed

    def _take_turns(self, below: Below) -> set[str]:
        """Some of all notes, others every time; those of them that changed."""
        self._turns = self._turns or list(self.stamps)
        until = time.perf_counter() + _UNNOTICED
        changed: set[str] = set()
        while self._turns:
            changed |= self._see(below, self._turns[-_IN_TURN:])
            del self._turns[-_IN_TURN:]
            if time.perf_counter() > until:
                break
        return changed

    def _see(self, below: Below, paths: Iterable[str]) -> set[str]:
        """Look at single files; those that are not as they were."""
        changed: set[str] = set()
        for path in paths:
            status = None
            with contextlib.suppress(*_NO_FOLDER):
                folder, name = below.at(path)
                status = os.stat(name, dir_fd=folder.fd, follow_symlinks=False)
            before = self.stamps.get(path)
            self._put(path, status)
            if self.stamps.get(path) != before:
                changed.add(path)
        return changed

    def _enter(self, notes: Notes, folder: Held, *, prefix: str, watch: Watch) -> None:
        """Look at everything in a folder and below it."""
        below: list[str] = []
        watch.add(folder, prefix)
        with os.scandir(folder.fd) as entries:
            for entry in entries:
                if not is_plain(entry.name):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    below.append(entry.name)
                elif entry.name.endswith(NOTE):
                    self._put(prefix + entry.name, _status(entry))
        _refuse_too_many(self.stamps)
        for name in below:
            self._go_into(notes, folder, prefix=prefix, name=name, watch=watch)

    def _go_into(self, notes: Notes, above: Held, *, prefix: str, name: str, watch: Watch) -> None:
        if len(prefix) + len(name) < LONGEST_PATH:
            # A link in its place is not followed; what may not be opened holds no notes of ours.
            with contextlib.suppress(*_NO_FOLDER), notes.confined.directory_at(above, name) as held:
                self._enter(notes, held, prefix=f"{prefix}{name}/", watch=watch)

    def _put(self, path: str, status: os.stat_result | None) -> None:
        if status is None or not stat.S_ISREG(status.st_mode) or len(path) > LONGEST_PATH:
            self.stamps.pop(path, None)
            self._twice.discard(path)
            return
        # The hash of whole numbers is the same in every process.
        self.stamps[path] = hash((status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino))
        if status.st_nlink > 1:
            self._twice.add(path)
        elif self._twice:
            self._twice.discard(path)

    def _below(self, prefix: str) -> set[str]:
        return {path for path in self.stamps if path.startswith(prefix)}

    def _forget(self, prefix: str) -> set[str]:
        gone = self._below(prefix)
        for path in gone:
            del self.stamps[path]
        self._twice -= gone
        return gone


def _which(notes: Notes) -> tuple[object, ...]:
    """What differs where another folder has taken its place, or where somebody comes who may see more or less of it."""
    status, grounds = notes.folder.status, notes.confined.grounds
    return status.st_dev, status.st_ino, grounds.roots, grounds.closed, grounds.git, grounds.code


def _is_note(path: str) -> bool:
    return path.endswith(NOTE) and _is_plain(path)


def _is_plain(path: str) -> bool:
    return is_plain(path.rpartition("/")[2])


def _status(entry: os.DirEntry[str]) -> os.stat_result | None:
    try:
        return entry.stat(follow_symlinks=False)
    except FileNotFoundError:
        return None


def _refuse_too_many(stamps: dict[str, Stamp]) -> None:
    if len(stamps) > MOST_NOTES:
        raise ValueError(f"there are more than {MOST_NOTES} notes in this project; put some into another")
