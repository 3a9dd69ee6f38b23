"""Placing: a file gets another name, never in the place of another file, and no name is taken from a file of others.

Linux can do that in one step. Elsewhere, and on file systems that cannot, the file gets a second name, which fails
where something has it, and then loses the first. Where there are no second names either, all that is left is to look
once more before the file is renamed.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
from functools import lru_cache
from typing import Any

from callgate.tools.confined import Spot
from callgate.tools.replacing import flush, name_beside

_NO_SECOND_NAMES = frozenset({errno.EPERM, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EMLINK, errno.EXDEV})
_NOT_IN_ONE_STEP = frozenset({errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EPERM})
"""A kernel, a file system, or a filter on system calls that knows nothing of it."""
_NEVER_REPLACE = 1


def give_name(source: Spot, target: Spot) -> bool:
    """Give a file another name, or finish giving it; False where that name is another's, or the file was saved anew."""
    if target.status is None:
        try:
            rename_in_one_step(source, target)
        except FileExistsError:
            return False
        except OSError as error:
            if error.errno not in _NOT_IN_ONE_STEP:
                raise
            given = _give_second_name(source, target)
        else:
            given = True
    else:
        given = are_two_names(source.status, target.status) and _drop_first_name(source, target)
    if given:
        flush(target.folder.fd)
        flush(source.folder.fd)
    return given


def are_two_names(one: os.stat_result | None, other: os.stat_result | None) -> bool:
    """Whether they are of one file that has more than one: a disk that does not tell capitals apart has each once."""
    return one is not None and one.st_nlink > 1 and _are_one(one, other)


def take_away(spot: Spot, file: os.stat_result) -> bool:
    """Take a name from a file; False where it is another's by now, who keeps it.

    It is renamed first and looked at then: what an editor put there after our last look would be deleted otherwise.
    """
    left = status_of(spot)
    if left is None or not _are_one(file, left):
        return left is None
    aside, at = name_beside(), spot.folder.fd
    try:
        os.rename(spot.name, aside, src_dir_fd=at, dst_dir_fd=at)
    except FileNotFoundError:
        return True
    if not _are_one(file, os.stat(aside, dir_fd=at, follow_symlinks=False)):
        _give_back(spot, aside)
        return False
    os.unlink(aside, dir_fd=at)
    return True


def status_of(spot: Spot) -> os.stat_result | None:
    """What is there now."""
    try:
        return os.stat(spot.name, dir_fd=spot.folder.fd, follow_symlinks=False)
    except FileNotFoundError:
        return None


def rename_in_one_step(source: Spot, target: Spot) -> None:
    """Rename what is there at this moment.

    Raises:
        FileExistsError: Something has that name.
        OSError: It cannot be done, or not in one step.
    """
    rename = _renaming()
    if rename is None:  # pragma: no cover - not Linux
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    names = os.fsencode(source.name), os.fsencode(target.name)
    if rename(source.folder.fd, names[0], target.folder.fd, names[1], _NEVER_REPLACE) < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), source.name)


def _give_back(spot: Spot, aside: str) -> None:
    at = spot.folder.fd
    try:
        with contextlib.suppress(FileExistsError):  # who saved it saved it once more
            os.link(aside, spot.name, src_dir_fd=at, dst_dir_fd=at, follow_symlinks=False)
    except OSError:  # no file, or one that can have no second name
        os.rename(aside, spot.name, src_dir_fd=at, dst_dir_fd=at)
    else:
        os.unlink(aside, dir_fd=at)


def _give_second_name(source: Spot, target: Spot) -> bool:
    try:
        os.link(
            source.name,
            target.name,
            src_dir_fd=source.folder.fd,
            dst_dir_fd=target.folder.fd,
            follow_symlinks=False,
        )
    except FileExistsError:
        return False
    except OSError as error:
        if error.errno not in _NO_SECOND_NAMES:
            raise
        return _rename_after_a_look(source, target)
    return _drop_first_name(source, target)


def _drop_first_name(source: Spot, target: Spot) -> bool:
    moved = status_of(target)
    if moved is None:
        return False
    if take_away(source, moved):
        return True
    # An editor saved it anew meanwhile: what it saved stays, and what we hold is the text before that.
    take_away(target, moved)
    return False


def _rename_after_a_look(source: Spot, target: Spot) -> bool:
    if status_of(target) is not None:
        return False
    os.rename(source.name, target.name, src_dir_fd=source.folder.fd, dst_dir_fd=target.folder.fd)
    return True


def _are_one(one: os.stat_result, other: os.stat_result | None) -> bool:
    """Whether two names are of one file."""
    return other is not None and (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino)


@lru_cache(maxsize=1)
def _renaming() -> Any:
    """The system's own; None where it has none."""
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if rename is not None:
        rename.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)
    return rename
