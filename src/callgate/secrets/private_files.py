"""Files that only their owner may read: checked when opened, written whole or not at all. Knows no content."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import time
from collections.abc import Generator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from secrets import token_hex

from callgate.errors import ConfigurationError, StoreError
from callgate.ports.unshared import close_unshared, open_unshared

_OTHERS = 0o077
_LOCK_SECONDS = 10.0
_LOCK_PAUSE = 0.01
_TRIES = 10
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def make_private_folder(path: Path) -> None:
    """Make a folder (and what is missing above it) that only its owner may enter; one that is there stays as it is.

    Raises:
        OSError: It cannot be made.
    """
    if not path.is_dir():
        make_private_folder(path.parent)
        with suppress(FileExistsError):
            path.mkdir(mode=0o700)


@contextmanager
def open_folder(path: Path, *, private: bool) -> Generator[int]:
    """A handle of the folder, so that it cannot be swapped while it is used.

    Args:
        path: The folder.
        private: Refuse a folder that others may enter.

    Raises:
        ConfigurationError: It is not private although it has to be.
        OSError: It cannot be opened.
    """
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        if private:
            _check_owner_only(handle, path, mode="700")
        yield handle
    finally:
        os.close(handle)


def read_private(path: Path, *, folder: int, at_most: int) -> bytes:
    """The content of the file `path.name` in the open folder.

    Raises:
        ConfigurationError: It is a link, no regular file, too large, or others than its owner may read it.
        FileNotFoundError: It is not there.
    """
    handle = _open_private(path, folder=folder)
    with open(handle, "rb") as file:  # noqa: PTH123 - an open handle has no path that could be swapped
        _check_regular(handle, path)
        _check_owner_only(handle, path, mode="600")
        content = file.read(at_most + 1)
    if len(content) > at_most:
        raise ConfigurationError(f"is larger than {at_most} bytes, which cannot be right", file=str(path))
    return content


def write_once(path: Path, content: bytes, *, folder: int) -> bool:
    """Create the file durably with this content, unless it is there already: False then. Never half, never twice.

    Raises:
        OSError: It cannot be written; nothing is left behind.
    """
    with _written(path, content, folder=folder) as temporary:
        try:
            os.link(temporary, path.name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
        except FileExistsError:
            return False
    os.fsync(folder)
    return True


def replace_private(path: Path, content: bytes, *, folder: int, written_in: int | None = None) -> None:
    """Put this content durably in the file's place: before or after a crash it is the old or the new one, whole.

    Args:
        path: The file.
        content: What will be in it.
        folder: Its open folder.
        written_in: The open folder it is written in first; the same if nothing is said.

    Raises:
        OSError: It cannot be written; the old file is as it was.
    """
    first = folder if written_in is None else written_in
    with _written(path, content, folder=first) as temporary:
        os.rename(temporary, path.name, src_dir_fd=first, dst_dir_fd=folder)
    os.fsync(folder)


def writing_folder(path: Path) -> Path:
    """The folder beside a file in which it is locked and written, so that all of that can be kept from others."""
    return path.with_name(f".{path.name}.writing")


@contextmanager
def lock_beside(path: Path) -> Generator[int]:
    """Keep other writers out; a handle of the folder beside the file to write in, which is made if it is not there.

    Raises:
        StoreError: Another writer did not end in time.
        OSError: The folder cannot be made.
    """
    with ExitStack() as held:
        yield _enter_beside(path, held)


def _enter_beside(path: Path, held: ExitStack) -> int:
    left = _TRIES
    while True:
        left -= 1
        make_private_folder(writing_folder(path))
        try:
            folder = held.enter_context(open_folder(writing_folder(path), private=False))
            held.enter_context(lock_file(path, folder=folder))
        except FileNotFoundError:
            # It was empty, and somebody who only let it stand there has taken it away.
            held.close()
            if not left:
                raise
        else:
            return folder


@contextmanager
def lock_file(path: Path, *, folder: int) -> Generator[None]:
    """Keep other writers (processes and threads) out; readers need no lock, because files are replaced whole.

    Raises:
        StoreError: Another writer did not end in time.
    """
    name = f"{path.name}.lock"
    handle = open_unshared(name, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, folder=folder)
    try:
        _take(handle, path)
        yield
    finally:
        close_unshared(handle)


def _take(handle: int, path: Path) -> None:
    give_up = time.monotonic() + _LOCK_SECONDS
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > give_up:
                raise StoreError(f"{path}: another process has been writing it for {_LOCK_SECONDS:.0f} s") from None
            time.sleep(_LOCK_PAUSE)
        else:
            return


@contextmanager
def _written(path: Path, content: bytes, *, folder: int) -> Generator[str]:
    """The name of a durable temporary file beside `path`; gone at the end, whatever happens."""
    temporary = f".{path.name}.{token_hex(8)}.tmp"
    handle = os.open(temporary, _CREATE, 0o600, dir_fd=folder)
    try:
        with open(handle, "wb") as file:  # noqa: PTH123 - an open handle has no path that could be swapped
            os.fchmod(handle, 0o600)
            file.write(content)
            file.flush()
            os.fsync(handle)
        yield temporary
    finally:
        with suppress(FileNotFoundError):
            os.unlink(temporary, dir_fd=folder)


def _open_private(path: Path, *, folder: int) -> int:
    try:
        return os.open(path.name, _READ, dir_fd=folder)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise ConfigurationError("is a symbolic link; put the file itself there", file=str(path)) from None
        raise


def _check_regular(handle: int, path: Path) -> None:
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        raise ConfigurationError("is not a regular file", file=str(path))


def _check_owner_only(handle: int, path: Path, *, mode: str) -> None:
    found = os.fstat(handle)
    if found.st_uid != os.geteuid():
        owner = f"belongs to user {found.st_uid}, and this process runs as user {os.geteuid()}"
        raise ConfigurationError(f"{owner}; it has to be your own", file=str(path))
    if found.st_mode & _OTHERS:
        open_to = f"can be read or changed by others (mode {stat.S_IMODE(found.st_mode):03o})"
        raise ConfigurationError(f"{open_to}; run: chmod {mode} {path}", file=str(path))
