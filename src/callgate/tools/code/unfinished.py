"""Unfinished: what is written down of each ending while a program runs, and who finds it when its Callgate is gone.

One small file for each program in a folder of Callgate's own, which no tool reaches, whatever store a gate has. It is
locked while its Callgate lives, also for one that does not wait for its turn with us, in a container of its own.
"""

from __future__ import annotations

import contextlib
import errno
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
_LEFT = "what was left to do when a program was ended with its Callgate"
_WRITTEN, _FRESH, _UNREADABLE = ".json", ".new", ".unreadable"
_MAKE = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
# To write as well: NFS lends a lock for one alone only then.
_OPEN = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


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
        with _needed(self.file.parent), open_folder(self.file.parent, private=True) as folder:
            os.fsync(self.handle)
            os.fsync(folder)

    def runs(self, init: int) -> None:
        """Note the first process of the sandbox: it may be there for a moment when its Callgate is not.

        Raises:
            NoEffect: It cannot be noted, so the program must not begin.
        """
        with _needed(self.file.parent):
            write_all(self.handle, b"\n%d %d" % (init, started(init) or 0))


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
    except BaseException:
        # It stays, and whoever does what it says tells these as well.
        word.notes.clear()
        raise
    finally:
        close_unshared(written.handle)


@contextlib.contextmanager
def _needed(folder: Path) -> Generator[None]:
    why = f"what has to be known when a program has ended cannot be kept in {folder}, so none was run"
    try:
        yield
    except ConfigurationError as error:
        # That says itself what is to be done.
        raise NoEffect(f"{why}: {error}") from error
    except OSError as error:
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
    except FileNotFoundError:
        return []
    except (OSError, ConfigurationError) as error:
        return [f"{_LEFT} could not be looked for ({error}), and is left to the next program"]


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
        handle = _locked(stem + _FRESH, at)
        try:
            write_all(handle, content)
            os.replace(stem + _FRESH, stem + _WRITTEN, src_dir_fd=at, dst_dir_fd=at)
        except BaseException:
            # Who comes next removes what has not got its name.
            close_unshared(handle)
            raise
    return Written(folder / (stem + _WRITTEN), handle)


def _locked(name: str, folder: int) -> int:
    """A new file, locked. Until it is, another Callgate takes it for one that was left, and may have removed it."""
    while True:
        handle = open_unshared(name, _MAKE, folder=folder)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            if _has_name(handle, name, folder=folder):
                return handle
        except BaseException:
            close_unshared(handle)
            raise
        close_unshared(handle)


def _has_name(handle: int, name: str, *, folder: int) -> bool:
    try:
        return os.path.samestat(os.stat(name, dir_fd=folder, follow_symlinks=False), os.fstat(handle))
    except FileNotFoundError:
        return False


_PASSING = {errno.EMFILE, errno.ENFILE, errno.ENOMEM}
"""What is lacking may be there again for the next program."""


class _NotNowError(Exception):
    """It has to wait for the next program."""


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
    except Exception as error:  # noqa: BLE001 - whatever is wrong with it, it must not keep programs from running
        if isinstance(error, _NotNowError) or getattr(error, "errno", None) in _PASSING:
            return [f"{_LEFT} is left to the next program, since {error}; it is written down in {_shown(name)}"]
        return [_put_away(name, folder, why=str(error))]


@contextlib.contextmanager
def _taken(name: str, folder: int) -> Generator[int | None]:
    """Its handle; None while a Callgate has it, or when another has just finished it.

    Raises:
        _NotNowError: It cannot be told whether a Callgate has it.
    """
    try:
        handle = open_unshared(name, _OPEN, folder=folder)
    except FileNotFoundError:
        yield None
        return
    try:
        yield handle if _is_left(name, folder, handle=handle) else None
    finally:
        close_unshared(handle)


def _is_left(name: str, folder: int, *, handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return _has_name(handle, name, folder=folder)
    except BlockingIOError:
        return False
    except OSError as error:
        raise _NotNowError(f"it cannot be told whether its Callgate has ended ({error.strerror})") from error


def _told(handle: int, *, own: tuple[str, ...]) -> list[str]:
    content, *runs = read_all(handle, 2 * LARGEST).splitlines()
    body = json.loads(content)
    if body["version"] != VERSION:
        raise ValueError(f"it is of version {body['version']}, and this Callgate knows {VERSION}")
    if "lifetime" not in body:
        return list(map(str, body["notes"]))
    if Lifetime(*body["lifetime"]).is_of_this_start():
        for run in runs:
            _await_end(*map(int, run.split()))
    return [*map(str, body["notes"]), *finish_late(body, own=own)]


def _await_end(process: int, start: int) -> None:
    """Wait for what can still write to the directories.

    Raises:
        _NotNowError: It has not ended, or that cannot be told.
    """
    try:
        is_gone = await_end(process, start)
    except OSError as error:
        raise _NotNowError(f"it cannot be told whether the program has ended ({error.strerror})") from error
    if not is_gone:
        raise _NotNowError(f"the program has not ended with its Callgate (process {process})")


def _put_away(name: str, folder: int, *, why: str) -> str:
    """Out of the way of the next one, which would meet the same, and kept for a person to look at."""
    kept = name.removesuffix(_WRITTEN) + _UNREADABLE
    with contextlib.suppress(OSError):
        os.rename(name, kept, src_dir_fd=folder, dst_dir_fd=folder)
    look = "look for a new .git, callgate.yaml or .callgate in the directories that it had"
    return f"{_LEFT} cannot be done ({why}), so {look}; what was written down for it is kept as {_shown(kept)}"


def _shown(name: str) -> str:
    return str(config_folder() / PROGRAMS / name)
