"""Unfinished: what is written down of each ending while a program runs, and who finds it when its Callgate is gone.

One small file for each program in a folder of Callgate's own, which no tool reaches, whatever store a gate has. It is
locked while its Callgate lives, also for one that does not wait for its turn with us, in a container of its own.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import secrets
import time
from collections.abc import Generator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from callgate.errors import ConfigurationError, NoEffect
from callgate.ports.unshared import close_unshared, open_unshared
from callgate.secrets.private_files import make_private_folder, open_folder
from callgate.secrets.root_keys import PROGRAMS, config_folder
from callgate.tools.code.ending import Ending, finish_late
from callgate.tools.code.lifetimes import Lifetime, await_end, started
from callgate.tools.confined import read_all, write_all

VERSION = 1
LARGEST = 64 * 1024**2
"""Bytes; what would be larger is not written, since it would not be read."""
_WRITTEN, _FRESH, _UNREADABLE = ".json", ".new", ".unreadable"
_MAKE = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Written:
    """The file of one ending, while its program runs."""

    file: Path
    handle: int

    def last(self) -> None:
        """Wait until it is on the disk: before the program begins.

        Raises:
            NoEffect: It does not get there, so the program must not begin.
        """
        with _needed(self.file.parent):
            # The file systems of Linux keep the name of a file that was made along with what is in it.
            os.fsync(self.handle)

    def runs(self, init: int) -> None:
        """Note the first process of the sandbox: it may be there for a moment when its Callgate is not."""
        os.write(self.handle, b"\n%d %d" % (init, started(init) or 0))


@contextlib.contextmanager
def written_down(ending: Ending, *, seconds: float, word: Word) -> Generator[Written]:
    """Keep in a file what an ending takes, until it is over; what breaks off is left to the next one.

    Args:
        ending: What is to be done when the program has ended.
        seconds: How long it may run.
        word: What is to be told besides.

    Raises:
        NoEffect: It cannot be written down, so the program must not begin.
    """
    folder = config_folder() / PROGRAMS
    with _needed(folder):
        written = _write(folder, _content(notes=word.notes, **ending.to_json(Lifetime.beginning(seconds))))
    try:
        yield written
        # Where it stays, the next one finds nothing to do.
        with contextlib.suppress(OSError):
            written.file.unlink()
    finally:
        close_unshared(written.handle)


@contextlib.contextmanager
def _needed(folder: Path) -> Generator[None]:
    try:
        yield
    except (OSError, ConfigurationError) as error:
        why = f"what has to be known when a program has ended cannot be kept in {folder}, so none was run"
        raise NoEffect(f"{why}: {error}; make room there, or set XDG_CONFIG_HOME to a folder of your own") from error


@dataclass(slots=True)
class Word:
    """What has to be told of endings, now or, where nobody hears it now, by the next program."""

    notes: list[str] = field(default_factory=list[str])
    is_heard: bool = True
    """Whether the call goes on that is to tell it."""


@contextlib.contextmanager
def told_or_left(word: Word) -> Generator[None]:
    """Leave it to the next program where the call breaks off that was to tell it."""
    is_over = False
    try:
        yield
        is_over = word.is_heard
    finally:
        if word.notes and not is_over:
            # Where nothing can be written, no program runs that could tell it.
            with contextlib.suppress(OSError, ConfigurationError):
                close_unshared(_write(config_folder() / PROGRAMS, _content(notes=word.notes)).handle)


def finish_left(own: tuple[str, ...]) -> list[str]:
    """Do what Callgates that are gone have left to do, in whatever directories; what was done, for people.

    Args:
        own: What is our own, and so left where it is.
    """
    try:
        with open_folder(config_folder() / PROGRAMS, private=True) as folder:
            names = sorted(os.listdir(folder))  # noqa: PTH208 - it is a handle
            return [note for name in names for note in _finish(name, folder, own=own)]
    except (OSError, ConfigurationError):
        # Where it cannot be read, nothing can be written either, and then no program runs.
        return []


def _content(**body: Any) -> bytes:
    # Names that are no UTF-8 are escaped as Python has them, and read back as they were.
    content = json.dumps({"version": VERSION, **body}).encode("ascii")
    if len(content) > LARGEST:
        raise OSError(f"it takes more than {LARGEST} bytes, since there is so much to look after")
    return content


def _write(folder: Path, content: bytes) -> Written:
    """Write a new file, which is locked. Whoever finds it, finds all of it."""
    make_private_folder(folder)
    stem = f"{time.time_ns()}-{secrets.token_hex(4)}"
    with open_folder(folder, private=True) as at:
        handle = open_unshared(stem + _FRESH, _MAKE, folder=at)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            write_all(handle, content)
            os.replace(stem + _FRESH, stem + _WRITTEN, src_dir_fd=at, dst_dir_fd=at)
        except BaseException:
            # Who comes next removes what has not got its name.
            close_unshared(handle)
            raise
    return Written(folder / (stem + _WRITTEN), handle)


def _finish(name: str, folder: int, *, own: tuple[str, ...]) -> list[str]:
    if not name.endswith((_WRITTEN, _FRESH)):
        return []
    try:
        with _taken(name, folder) as handle:
            if handle is None:
                return []
            # One that never got its name is of a program that was never let go.
            told = _told(handle, own=own) if name.endswith(_WRITTEN) else []
            # Where it stays, the next one finds nothing to do.
            with contextlib.suppress(OSError):
                os.unlink(name, dir_fd=folder)
            return told
    except FileNotFoundError:
        return []
    except Exception as error:  # noqa: BLE001 - whatever is wrong with it, it must not keep programs from running
        return [_put_away(name, folder, why=str(error))]


@contextlib.contextmanager
def _taken(name: str, folder: int) -> Generator[int | None]:
    """Its handle; None while a Callgate has it, or when another has just finished it."""
    handle = open_unshared(name, _OPEN, folder=folder)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        is_there = os.path.samestat(os.stat(name, dir_fd=folder, follow_symlinks=False), os.fstat(handle))
        yield handle if is_there else None
    except BlockingIOError:
        yield None
    finally:
        close_unshared(handle)


def _told(handle: int, *, own: tuple[str, ...]) -> list[str]:
    content, *runs = read_all(handle, 2 * LARGEST).splitlines()
    body = json.loads(content)
    if body["version"] != VERSION:
        raise ValueError(f"it is of version {body['version']}, and this Callgate knows {VERSION}")
    for run in runs:
        await_end(*map(int, run.split()))
    done = finish_late(body, own=own) if "lifetime" in body else []
    return [*map(str, body["notes"]), *done]


def _put_away(name: str, folder: int, *, why: str) -> str:
    """Out of the way of the next one, which would meet the same, and kept for a person to look at."""
    kept = name.removesuffix(_WRITTEN) + _UNREADABLE
    with contextlib.suppress(OSError):
        os.rename(name, kept, src_dir_fd=folder, dst_dir_fd=folder)
    at = config_folder() / PROGRAMS / kept
    what = "what was left to do when a program was ended with its Callgate cannot be done"
    look = "look for a new .git, callgate.yaml or .callgate in the directories that it had"
    return f"{what} ({why}), so {look}; what was written down for it is kept as {at}"
