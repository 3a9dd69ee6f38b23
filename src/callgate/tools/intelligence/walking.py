"""Walking: the files of a project that may be indexed, by directory handle and without following a link."""

from __future__ import annotations

import contextlib
import os
import re
import stat
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from callgate.model.grounds import Grounds
from callgate.model.visible import cut
from callgate.tools.confined import Confined, Held, inside
from callgate.tools.intelligence.ignoring import Ignoring, TooMuch
from callgate.tools.intelligence.languages import TEXT, language_of

LARGEST_SOURCE = 1024 * 1024
LARGEST_TEXT = 256 * 1024
MOST_FILES = 50_000
_MOST_SEEN = 500_000
_DEEPEST = 100
_MOST_LEFT_OUT = 10
_SHOWN = 200
"""Characters of the path of one that is left out."""
_NOTES = "notes of the vault lie there, which are found by the tools of the vault alone"
_NEVER = frozenset({"node_modules", "__pycache__", "site-packages"})
_TELLTALES = frozenset({"pyvenv.cfg", "CACHEDIR.TAG"})
"""A directory that has one of these is made by a program, and can be made again."""
_BINARY = frozenset(
    re.findall(
        r"\w+",
        "7z a avif bin bmp bz2 class db dll doc docx dylib ear eot exe gif gz ico icns jar jpeg jpg lib map mo mov mp3 "
        "mp4 npy npz o obj odt ogg otf parquet pdf pickle pkl png ppt pptx pyc pyd pyo rar so sqlite sqlite3 svg tar "
        "tgz tif tiff ttf war wasm wav webm webp whl woff woff2 xls xlsx xz zip zst",
    )
)


@dataclass(frozen=True, slots=True)
class Seen:
    """A file as the walk saw it."""

    path: str
    """From the project."""
    size: int
    state: str
    """Changes when the file does: times, size and which file it is."""
    changed: int
    """When it last changed, in nanoseconds."""


@dataclass(slots=True)
class Walk:
    """One walk through a project.

    Raises:
        TimeoutError: It is to stop.
        ValueError: There is too much.
    """

    confined: Confined
    grounds: Grounds
    stop: Callable[[], bool]
    notes: tuple[int, int] | None = None
    """Device and number of the directory that notes are kept in, which are told by the tools on notes alone."""
    judged: Mapping[str, str] = field(default_factory=dict[str, str])
    """The states of files that were opened under these grounds before: they are as they were, and are not judged anew.
    A second name of a file, or a link in its place, is another state."""
    files: dict[str, Seen] = field(default_factory=dict[str, Seen])
    left_out: list[str] = field(default_factory=list[str])
    """Directories that nobody would expect to be left out, with the reason; the first of them."""
    _seen: int = 0

    def take(self, project: Held) -> dict[str, Seen]:
        """The files of a project that is held, by path."""
        if any(self._is_of_notes(each.stat()) for each in (Path(project.place), *Path(project.place).parents)):
            self._leave_out("", _NOTES)
        else:
            self._look(project, "", ignoring=Ignoring(self._look_at_the_clock))
        return self.files

    def _look(self, folder: Held, above: str, *, ignoring: Ignoring) -> None:
        entries = dict(self._entries(folder))
        names = frozenset(entries)
        if above and not _TELLTALES.isdisjoint(names):
            return
        try:
            rules = ignoring.within(self.confined, folder, path=above, names=names)
        except TooMuch as error:
            self._leave_out(above, str(error))
            return
        below: list[str] = []
        for name in sorted(entries):
            status = entries[name]
            is_folder = stat.S_ISDIR(status.st_mode)
            if not _is_of_interest(name, status) or rules.ignores(above + name, folder=is_folder):
                continue
            if is_folder and self._may_enter(folder, above + name, status=status):
                below.append(name)
            if not is_folder:
                self._keep(folder, seen(above + name, status), status=status)
        if above.count("/") < _DEEPEST:
            self._descend(folder, above, rules=rules, names=below)

    def _descend(self, folder: Held, above: str, *, rules: Ignoring, names: list[str]) -> None:
        for name in names:
            try:
                with self.confined.directory_at(folder, name) as held:
                    self._look(held, f"{above}{name}/", ignoring=rules)
            except TimeoutError:
                raise
            except OSError:  # gone, closed to us, or a link by now
                continue

    def _entries(self, folder: Held) -> Iterator[tuple[str, os.stat_result]]:
        with os.scandir(folder.fd) as entries:
            for entry in entries:
                self._seen += 1
                if self._seen > _MOST_SEEN:
                    raise ValueError(f"the project has more than {_MOST_SEEN} files; work in a directory further down")
                if self._seen % 256 == 0:
                    self._look_at_the_clock()
                with contextlib.suppress(FileNotFoundError):
                    yield entry.name, entry.stat(follow_symlinks=False)

    def _look_at_the_clock(self) -> None:
        if self.stop():
            raise TimeoutError("looking through the project took too long; work in a directory further down")

    def _leave_out(self, path: str, why: str) -> None:
        if len(self.left_out) < _MOST_LEFT_OUT:
            self.left_out.append(f"{cut(path, _SHOWN) or './'}: {why}")

    def _keep(self, folder: Held, file: Seen, *, status: os.stat_result) -> None:
        if self.judged.get(file.path) != file.state:
            if not self._may_look(folder, file.path.rpartition("/")[2], status=status):
                return
            if len(self.files) >= MOST_FILES:
                raise ValueError(f"the project has more than {MOST_FILES} sources; work in a directory further down")
        self.files[file.path] = file

    def _may_enter(self, folder: Held, path: str, *, status: os.stat_result) -> bool:
        if self._is_of_notes(status):
            self._leave_out(f"{path}/", _NOTES)
            return False
        return self._may_look(folder, path.rpartition("/")[2], status=status)

    def _is_of_notes(self, status: os.stat_result) -> bool:
        return self.notes == (status.st_dev, status.st_ino)

    def _may_look(self, folder: Held, name: str, *, status: os.stat_result) -> bool:
        return self.grounds.path_refused(inside(folder.place, name), status) is None


def seen(path: str, status: os.stat_result) -> Seen:
    """A file as it is now."""
    state = f"{status.st_mtime_ns}.{status.st_ctime_ns}.{status.st_size}.{status.st_dev}.{status.st_ino}"
    return Seen(path, status.st_size, state, max(status.st_mtime_ns, status.st_ctime_ns))


def _is_of_interest(name: str, status: os.stat_result) -> bool:
    if name.startswith(".") or not _is_text(name):
        return False
    if stat.S_ISDIR(status.st_mode):
        return name not in _NEVER
    if not stat.S_ISREG(status.st_mode):
        return False
    ending = name.rpartition(".")[2].lower()
    if ending in _BINARY or ".min." in name:
        return False
    return status.st_size <= (LARGEST_TEXT if language_of(name) == TEXT else LARGEST_SOURCE)


def _is_text(name: str) -> bool:
    """Whether a name can be written down."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return "\n" not in name
