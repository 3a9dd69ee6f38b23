"""Replacing: a finished file takes the place of another, so that nobody ever sees half of one; what it changes."""

from __future__ import annotations

import contextlib
import difflib
import errno
import io
import os
import re
import secrets
import stat
from collections.abc import Generator

from callgate.errors import NoEffect
from callgate.model.visible import CUT
from callgate.tools.confined import Held, Spot, create, write_all
from callgate.tools.file_rights import FileRights, grant

SHOWN = 20_000
"""So many characters of a difference are shown."""
_COMPARED_LINES = 1000
_COMPARED_BYTES = 200_000
_BEGINNING, _ENDING = ".callgate-", ".tmp"
_RANDOM = 8
"""So many bytes of a name are by chance."""
_NAMELESS: int = getattr(os, "O_TMPFILE", os.O_DIRECTORY)  # where there are none, a folder is no file to write
_NO_NAMELESS = frozenset({errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL, errno.ENOENT})
_NEVER_FLUSHED = frozenset({errno.EINVAL, errno.EOPNOTSUPP, errno.ENOTSUP})
_ANYBODY_WRITES = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH
_MAKERS_ONLY, _ANYBODYS = 0o600, 0o666
"""What a new file may be opened for before it has its rights, and where it gets no others."""


class NotRenamed(NoEffect, OSError):
    """What is finished could not get its name, and everything is as it was."""


class RenameForbidden(NotRenamed, PermissionError):
    """Nor will it, unless a person changes something."""


class ProtectedFile(PermissionError):
    """A person protected a file against writing."""


@contextlib.contextmanager
def beside(folder: Held, content: bytes, *, like: FileRights | None, writer: str = "") -> Generator[str]:
    """A finished file beside the one it is to replace; gone again if it does not.

    Args:
        folder: Where.
        content: What is in it.
        like: The rights of the file that it is to replace; None is a new one.
        writer: Who sweeps up after this one, where turns keep those of one name apart, and those of others not.
    """
    name = name_beside(writer)
    fd = create(folder, name, mode=_ANYBODYS if like is None else _MAKERS_ONLY)
    try:
        try:
            if like is not None:
                grant(fd, like)
            write_all(fd, content)
            os.fsync(fd)
        finally:
            os.close(fd)
        yield name
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name, dir_fd=folder.fd)
        raise


def take_place(folder: Held, name: str, *, of: str, shown: str) -> None:
    """Let a finished file take the place of another.

    Args:
        folder: Where both are.
        name: The finished one.
        of: The other one.
        shown: How that is told.

    Raises:
        NotRenamed: The system refuses, and says why; nothing happened.
        OSError: Something went wrong, and it may have taken it.
    """
    try:
        os.replace(name, of, src_dir_fd=folder.fd, dst_dir_fd=folder.fd)
    except OSError as error:
        # A file system far away may do it and lose its answer: while it has its own name, it has not got the other.
        if not is_there(folder, name):
            raise
        why = _why_not(error, folder)
        raise not_renamed(error, f"{shown} cannot be replaced, and stays as it is: {why}") from error


def flush(folder: int) -> None:
    """Have the names in an open directory on the disk, where the file system does that at all.

    Raises:
        OSError: It went wrong, and they may not be there after a crash.
    """
    try:
        os.fsync(folder)
    except OSError as error:
        # Some, as those that lie far away, cannot: what was done is done there, and no failure.
        if error.errno not in _NEVER_FLUSHED:
            raise


def not_renamed(error: OSError, said: str) -> NotRenamed:
    """An error that came before anything happened, in words that say so."""
    forbidden = isinstance(error, PermissionError) or error.errno == errno.EBUSY
    return RenameForbidden(said) if forbidden else NotRenamed(said)


def is_there(folder: Held, name: str) -> bool:
    """Whether something has that name in a directory."""
    try:
        os.stat(name, dir_fd=folder.fd, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def name_beside(writer: str = "") -> str:
    """A name that nothing has, and that `sweep` knows."""
    return f"{_BEGINNING}{writer}{secrets.token_hex(_RANDOM)}{_ENDING}"


def refuse_protected(spot: Spot, shown: str) -> None:
    """To put another file in its place, the directory's right is enough; a person who protected the file means both.

    The system lets an administrator write whatever the file says, so there the file is asked whether anybody may.

    Raises:
        ProtectedFile: It is.
    """
    if spot.status is None or not stat.S_ISREG(spot.status.st_mode):
        return
    mine = os.access in os.supports_effective_ids
    may = os.access(spot.name, os.W_OK, dir_fd=spot.folder.fd, effective_ids=mine)
    if not may or not spot.status.st_mode & _ANYBODY_WRITES:
        raise ProtectedFile(f"{shown} is protected against writing, and stays as it is unless a person lifts that")


def try_out(folder: Held) -> None:
    """Make a file there and remove it; where the system can, one that never has a name.

    Raises:
        OSError: It cannot be made.
    """
    try:
        os.close(os.open(".", os.O_WRONLY | os.O_CLOEXEC | _NAMELESS, dir_fd=folder.fd))
    except OSError as error:
        if error.errno not in _NO_NAMELESS:
            raise
    else:
        return
    name = name_beside()
    os.close(create(folder, name))
    os.unlink(name, dir_fd=folder.fd)


def sweep(folder: Held, writer: str = "") -> None:
    """Remove what a process that was killed left unfinished there.

    Args:
        folder: Where.
        writer: Whose; for who knows that nobody else writes there now as this one.
    """
    ours = re.compile(rf"{re.escape(_BEGINNING + writer)}[0-9a-f]{{{2 * _RANDOM}}}{re.escape(_ENDING)}")
    with os.scandir(folder.fd) as entries:
        left = [each.name for each in entries if ours.fullmatch(each.name) and each.is_file(follow_symlinks=False)]
    for name in left:
        with contextlib.suppress(OSError):
            os.unlink(name, dir_fd=folder.fd)


def version_of(status: os.stat_result | None) -> tuple[int, ...] | None:
    """What differs when somebody else changed or replaced a file."""
    if status is None:
        return None
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def difference(before: bytes, after: bytes, *, name: str, new: bool) -> str:
    """What changes in a text, for people."""
    told = f"{'a new file' if new else f'{len(before)} bytes before'}, {len(after)} bytes after"
    if max(len(before), len(after)) > _COMPARED_BYTES or max(before.count(b"\n"), after.count(b"\n")) > _COMPARED_LINES:
        return f"{name}: {told}; too large to show what changes"
    try:
        old, now = _lines(before.decode()), _lines(after.decode())
    except UnicodeDecodeError:
        return f"{name}: {told}; it is no text now"
    lines = difflib.unified_diff(old, now, "/dev/null" if new else name, name)
    text = "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)
    return f"{name}: {told}\n{shown(text)}" if text else f"{name}: nothing changes"


def _lines(text: str) -> list[str]:
    """Python also ends a line at a form feed and other signs, of which a file has many that end no line."""
    return list(io.StringIO(text, newline="\n"))


def shown(text: str) -> str:
    """As much of a text as is shown. The mark stands right behind the last letter: so half a secret is known as one."""
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}{CUT}\n{CUT} {len(text) - SHOWN} more characters"


def _why_not(error: OSError, folder: Held) -> str:
    """What the system says, so that a person can do something about it."""
    if error.errno == errno.EBUSY:
        return "it is mounted by itself, as a file that is the volume of a container; mount its directory instead"
    if error.errno == errno.EPERM and os.fstat(folder.fd).st_mode & stat.S_ISVTX:
        return "in its directory only the owner of a file may replace it (the sticky bit), and that is somebody else"
    return error.strerror or str(error)
