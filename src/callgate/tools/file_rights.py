"""File rights: who may do what with a file, taken from one that is replaced and granted to the one in its place.

What cannot be kept is taken away, and never given to somebody else: the rights of a group that the new file cannot
have, and those of an access list that it cannot bear.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import struct
from dataclasses import dataclass
from typing import NamedTuple

from callgate.tools.confined import Held

_LIST = "system.posix_acl_access"
"""Where Linux keeps the access list of a file; without one the mode says everything."""
_NO_LIST = frozenset({errno.ENODATA, errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENOSYS})
_HAS_LISTS = hasattr(os, "getxattr")
_VERSION = struct.pack("<I", 2)
_ENTRY = struct.Struct("<HHI")
_OWNER, _USER, _GROUP, _OTHER_GROUP, _MASK, _OTHERS = 0x01, 0x02, 0x04, 0x08, 0x10, 0x20
_NOBODY_NAMED = 0xFFFFFFFF
_ALL = 0o7
_SAME = -1
"""What `fchown` leaves as it is."""


class _Entry(NamedTuple):
    whose: int
    rights: int
    number: int
    """Of the user or group, where it names one."""


@dataclass(frozen=True, slots=True)
class FileRights:
    """An owner, a group, and what each of them may do, others too. What makes a program run as another is not in it."""

    owner: int
    group: int
    entries: tuple[_Entry, ...]


def rights_of(held: Held) -> FileRights:
    """Who may do what with a file that is held."""
    status = held.status
    return FileRights(status.st_uid, status.st_gid, _listed(held.fd) or _of_mode(status.st_mode))


def grant(fd: int, rights: FileRights) -> None:
    """Give a new file, which only its maker may touch yet, these rights, or those of them that it can have.

    Raises:
        OSError: Its rights cannot be changed at all.
    """
    _drop_list(fd)
    entries = rights.entries if _keep_owners(fd, rights) else _without_group(rights.entries)
    if not (_is_list(entries) and _give_list(fd, entries)):
        os.fchmod(fd, _mode_of(entries))


def _of_mode(mode: int) -> tuple[_Entry, ...]:
    places = ((_OWNER, 6), (_GROUP, 3), (_OTHERS, 0))
    return tuple(_Entry(whose, stat.S_IMODE(mode) >> shift & _ALL, _NOBODY_NAMED) for whose, shift in places)


def _listed(fd: int) -> tuple[_Entry, ...]:
    """The access list of an open file; nothing where it has none."""
    if not _HAS_LISTS:  # pragma: no cover - where Linux is not
        return ()
    try:
        packed = os.getxattr(fd, _LIST)
    except OSError as error:
        if error.errno in _NO_LIST:
            return ()
        raise
    return tuple(_Entry(*each) for each in _ENTRY.iter_unpack(packed[len(_VERSION) :]))


def _drop_list(fd: int) -> None:
    """Take away what a new file got from its directory: it may name those who had no right to the old one."""
    if not _HAS_LISTS:  # pragma: no cover - where Linux is not
        return
    try:
        os.removexattr(fd, _LIST)
    except OSError as error:
        if error.errno not in _NO_LIST:
            raise


def _keep_owners(fd: int, rights: FileRights) -> bool:
    """Whether the file has that group now: to his groups anybody may give it, to others only an administrator."""
    for owner in (rights.owner, _SAME):
        with contextlib.suppress(OSError):
            os.fchown(fd, owner, rights.group)
            break
    return os.fstat(fd).st_gid == rights.group


def _is_list(entries: tuple[_Entry, ...]) -> bool:
    return any(each.whose == _MASK for each in entries)


def _give_list(fd: int, entries: tuple[_Entry, ...]) -> bool:
    """Whether the file has this list now, and with it its mode."""
    try:
        os.setxattr(fd, _LIST, _VERSION + b"".join(_ENTRY.pack(*each) for each in entries))
    except OSError:
        return False
    return True


def _without_group(entries: tuple[_Entry, ...]) -> tuple[_Entry, ...]:
    """Whoever is in the old group counts as one of the others now, and the new group is one that was: what both had."""
    both = _rights(entries, _GROUP) & _rights(entries, _OTHERS)
    return tuple(each._replace(rights=both) if each.whose in {_GROUP, _OTHERS} else each for each in entries)


def _mode_of(entries: tuple[_Entry, ...]) -> int:
    """A mode that lets nobody do more. Who is named counts as one of the group or of the others then."""
    named = _rights(entries, _USER) & _rights(entries, _OTHER_GROUP)
    group, others = (_rights(entries, whose) & named for whose in (_GROUP, _OTHERS))
    return _rights(entries, _OWNER) << 6 | group << 3 | others


def _rights(entries: tuple[_Entry, ...], whose: int) -> int:
    """What all entries of a kind allow, behind the mask where it counts; everything where there are none."""
    found = [each.rights for each in entries if each.whose == whose]
    if found and whose not in {_OWNER, _OTHERS}:
        found += [each.rights for each in entries if each.whose == _MASK]
    rights = _ALL
    for each in found:
        rights &= each
    return rights
