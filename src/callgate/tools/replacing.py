"""Replacing: a finished file takes the place of another, so that nobody ever sees half of one; what it changes."""

from __future__ import annotations

import contextlib
import difflib
import errno
import os
import re
import secrets
import stat
from collections.abc import Generator

from callgate.model.visible import CUT
from callgate.tools.confined import Held, create, write_all

SHOWN = 20_000
"""So many characters of a difference are shown."""
_COMPARED_LINES = 1000
_COMPARED_BYTES = 200_000
_BEGINNING, _ENDING = ".callgate-", ".tmp"
_RANDOM = 8
"""So many bytes of a name are by chance."""
_NAMELESS: int = getattr(os, "O_TMPFILE", os.O_DIRECTORY)  # where there are none, a folder is no file to write
_NO_NAMELESS = frozenset({errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL, errno.ENOENT})
_PERMISSIONS = 0o777
"""Kept of the file that is replaced; what makes a program run as another is not."""


@contextlib.contextmanager
def beside(folder: Held, content: bytes, *, like: os.stat_result | None, writer: str = "") -> Generator[str]:
    """A finished file beside the one it is to replace; gone again if it does not.

    Args:
        folder: Where.
        content: What is in it.
        like: The file whose permissions it gets; None is a new one.
        writer: Who sweeps up after this one, where turns keep those of one name apart, and those of others not.
    """
    name = name_beside(writer)
    fd = create(folder, name)
    try:
        try:
            _keep_permissions(fd, like)
            write_all(fd, content)
            os.fsync(fd)
        finally:
            os.close(fd)
        yield name
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name, dir_fd=folder.fd)
        raise


def name_beside(writer: str = "") -> str:
    """A name that nothing has, and that `sweep` knows."""
    return f"{_BEGINNING}{writer}{secrets.token_hex(_RANDOM)}{_ENDING}"


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
        old, now = before.decode().splitlines(keepends=True), after.decode().splitlines(keepends=True)
    except UnicodeDecodeError:
        return f"{name}: {told}; it is no text now"
    lines = difflib.unified_diff(old, now, "/dev/null" if new else name, name)
    text = "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)
    return f"{name}: {told}\n{shown(text)}" if text else f"{name}: nothing changes"


def shown(text: str) -> str:
    """As much of a text as is shown. The mark stands right behind the last letter: so half a secret is known as one."""
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}{CUT}\n{CUT} {len(text) - SHOWN} more characters"


def _keep_permissions(fd: int, before: os.stat_result | None) -> None:
    if before is None:
        return
    with contextlib.suppress(PermissionError):  # only an administrator may give a file away
        os.fchown(fd, before.st_uid, before.st_gid)
    os.fchmod(fd, stat.S_IMODE(before.st_mode) & _PERMISSIONS)
