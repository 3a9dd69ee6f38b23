"""OwnFiles: Callgate's own files, out of reach of every tool, whether they exist yet or not.

Configuration, policy, store, keys, secrets: no role, scope or grant lifts this. A name is compared in the widest
sense any file system gives it: without case, without invisible characters, through links of either kind.
"""

from __future__ import annotations

import os
import stat
import unicodedata
from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache
from itertools import islice
from pathlib import Path

from callgate.policy.aims import Aims
from callgate.settings.load import DEFAULT_FILE
from callgate.settings.load_accepted import ACCEPTED_FILE

_BESIDE = ("", "-wal", "-shm", "-journal", ".lock")
"""What a database keeps beside its file belongs to it."""
_MOST_LOOKED_AT = 50_000
"""So many of them are looked at for other names of theirs."""

STORE_FOLDER = ".callgate"
"""Where a store lies if nothing else is said."""
CONFIGURATIONS = (DEFAULT_FILE, ACCEPTED_FILE)
"""What a Callgate takes its policy from."""

_PROCESSES = ("proc",)
_MEMORY = frozenset({
    ("dev", "mem"), ("dev", "kmem"), ("dev", "port"), ("sys", "kernel", "debug"), ("sys", "kernel", "tracing")
})  # fmt: skip
LONGEST_OF_SYSTEM = max(map(len, _MEMORY))
"""So many parts of a path say whether it leads to what processes know."""

Key = tuple[str, ...]


@lru_cache(maxsize=4096)
def key_of(path: str) -> Key:
    """The parts of an absolute path in the spelling they are compared in."""
    # So many, because whoever looks at many files of a tree looks at them again.
    above, _, name = path.replace(os.sep, "/").rpartition("/")
    return (*_folder(above), part_of_key(name)) if name else _folder(above)


@lru_cache(maxsize=1024)
def _folder(path: str) -> Key:
    # Whoever looks at many files looks at many in one directory.
    return tuple(part_of_key(part) for part in path.split("/") if part)


@lru_cache(maxsize=8192)
def part_of_key(name: str) -> str:
    """One part of a path in that spelling."""
    # Some file systems drop case, invisible characters, trailing dots and spaces, or what follows a colon.
    if name.isascii():  # as nearly all are, and of these nothing is invisible
        folded = name.lower()
        return (folded.partition(":")[0] or folded).rstrip(". ") or name
    visible = "".join(letter for letter in unicodedata.normalize("NFKC", name) if unicodedata.category(letter) != "Cf")
    folded = unicodedata.normalize("NFKC", visible.casefold())
    return (folded.partition(":")[0] or folded).rstrip(". ") or name


def is_git(part: str) -> bool:
    """Whether a part of a key names git's own directory."""
    return part in (".git", "git~1")


def is_configuration(part: str) -> bool:
    """Whether a part of a key names what some Callgate takes its policy from, this one or another."""
    return part in CONFIGURATIONS


def is_store(part: str) -> bool:
    """Whether a part of a key names the folder that some Callgate keeps its store in."""
    return part == STORE_FOLDER


def names_store(parts: Collection[str]) -> bool:
    """Whether one of the parts of a key does."""
    return STORE_FOLDER in parts


def shows_processes(path: str) -> bool:
    """Whether what processes know is read at this absolute path: the environment that keys came in, their memory."""
    key = key_of(path)
    return key[:1] == _PROCESSES or key[:2] in _MEMORY or key[:3] in _MEMORY


class OwnFiles:
    """The places no tool may touch."""

    def __init__(self, paths: Iterable[Path | str]) -> None:
        self._paths = tuple(os.path.abspath(path) for path in paths)  # noqa: PTH100 - links must not be followed here
        places = {*self._paths, *map(os.path.realpath, self._paths)}
        self._keys = frozenset(key_of(place + ending) for place in places for ending in _BESIDE)
        self._lengths = frozenset(map(len, self._keys))
        self._above = frozenset(key[:length] for key in self._keys for length in range(len(key)))
        self._aims: dict[Key, Aims] = {}

    @property
    def places(self) -> tuple[str, ...]:
        """Every path that is one of them, with what a database keeps beside its file."""
        return tuple(path + ending for path in self.paths for ending in _BESIDE)

    def with_more(self, paths: Iterable[Path | str]) -> OwnFiles:
        """These and others."""
        more = tuple(paths)
        return OwnFiles((*self._paths, *more)) if more else self

    @property
    def paths(self) -> tuple[str, ...]:
        """Each as it was named, and where it really is."""
        return tuple(dict.fromkeys((*self._paths, *map(os.path.realpath, self._paths))))

    def holds(self, path: str) -> bool:
        """Whether the path is one of them or lies in one of them."""
        key = key_of(path)
        for length in self._lengths:  # noqa: SIM110 - for every file that a tool meets, and any() takes twice as long
            if key[:length] in self._keys:
                return True
        return False

    def lie_below(self, path: str) -> bool:
        """Whether one of them lies somewhere under this directory."""
        return key_of(path) in self._above

    def aims_below(self, path: str) -> Aims | None:
        """Those that lie under this directory, for patterns; None where none does."""
        start = key_of(path)
        if start not in self._above:
            return None
        if start not in self._aims:
            self._aims[start] = Aims(key[len(start) :] for key in self._keys if key[: len(start)] == start)
        return self._aims[start]

    def holders_below(self, path: str) -> Iterator[Key]:
        """What leads from this directory to each under it that holds some of them."""
        start = key_of(path)
        yield from (key[len(start) :] for key in self._above if len(key) > len(start) and key[: len(start)] == start)

    def existing(self) -> Iterator[os.stat_result]:
        """Those that are there right now, at whatever depth."""
        for path in self._paths:
            for ending in _BESIDE:
                yield from _status(path + ending)
            yield from _below(path)


class SecondNames:
    """Finds own files under another name of theirs; looks at what exists once, when the first doubtful file comes."""

    def __init__(self, own: OwnFiles) -> None:
        self._own = own
        self._files: frozenset[tuple[int, int]] | None = None
        self._all_seen = True

    def is_one(self, status: os.stat_result) -> bool:
        """Whether this file is one of Callgate's own under another name."""
        if not stat.S_ISREG(status.st_mode) or status.st_nlink < 2:  # noqa: PLR2004 - its own name, and another
            return False
        if self._files is None:
            existing = self._own.existing()
            self._files = frozenset((own.st_dev, own.st_ino) for own in islice(existing, _MOST_LOOKED_AT))
            self._all_seen = next(existing, None) is None
        # Where there are more than can be looked at, a file with two names may be any of them.
        return not self._all_seen or (status.st_dev, status.st_ino) in self._files


def _below(path: str) -> Iterator[os.stat_result]:
    """What lies in a folder and in those below it, links followed for what they are; nothing for a file."""
    pending = [path]
    while pending:
        for entry in listed(pending.pop()):
            yield from _status(entry.path)
            if _is_folder(entry):
                pending.append(entry.path)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False


def listed(path: str) -> Iterator[os.DirEntry[str]]:
    """What lies in a folder; nothing where it cannot be seen."""
    try:
        with os.scandir(path) as entries:
            yield from entries
    except OSError:
        return


def _status(path: str) -> Iterator[os.stat_result]:
    try:
        yield os.stat(path)  # noqa: PTH116 - a text all along
    except OSError:
        return
