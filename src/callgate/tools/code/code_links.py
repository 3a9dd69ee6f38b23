"""Code links: second names, in what a program may write, of files that Callgate runs from.

uv makes environments of hard links: two of them, Callgate's and a project's, have their files in common, and what is
written in one is in both. A mount over the one does not keep the other.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Container, Iterable, Iterator, Sequence

from callgate.policy.own_files import is_git, part_of_key
from callgate.policy.ways import is_inside
from callgate.tools.code.inventory import MOST_ENTRIES, Identity

MOST_NAMES = 1000
"""Each is a mount, and these take time."""
_INSTALLED = ("/site-packages/", "/dist-packages/")


def second_names(
    code: Sequence[str],
    roots: Iterable[str],
    *,
    opened: Container[str],
    closed: Sequence[str] = (),
    seen_twice: bool = False,
) -> list[str]:
    """Files that lie in the code as well, and whole directories of packages that hold such.

    Args:
        code: What Callgate runs from.
        roots: What the program may write to.
        opened: Each `.git` among it; the others are read-only anyway.
        closed: What it does not get of these.
        seen_twice: Whether one name may be seen under two paths, because a directory is mounted twice.

    Raises:
        PermissionError: There are too many to be looked after.
    """
    linked: dict[Identity, list[str]] = {}
    names: dict[Identity, int] = {}
    for path, status in _files(roots, without=(*code, *closed), opened=opened):
        if status.st_nlink > 1:
            linked.setdefault((status.st_dev, status.st_ino), []).append(path)
            names[status.st_dev, status.st_ino] = status.st_nlink
    # Where all names of a file were seen, it has none in the code.
    doubtful = {identity for identity, paths in linked.items() if seen_twice or len(paths) < names[identity]}
    found = [path for identity in _in_code(code, doubtful) for path in linked[identity]]
    kept = list(dict.fromkeys(map(_around, found)))
    if len(kept) > MOST_NAMES:
        message = f"more than {MOST_NAMES} files in the granted directories are hard links of what Callgate runs from"
        raise PermissionError(f"{message}; make copies of them, or give Callgate an environment of its own")
    return kept


def _in_code(code: Iterable[str], doubtful: set[Identity]) -> Iterator[Identity]:
    """Those of these files that lie in the code; as long as there are some to look for."""
    left = set(doubtful)
    files = _files(code if left else (), without=(), opened=())
    while left and (file := next(files, None)) is not None:
        identity = file[1].st_dev, file[1].st_ino
        if identity in left:
            left.discard(identity)
            yield identity


def _around(path: str) -> str:
    """The directory of packages that a file lies in, or the file."""
    for installed in _INSTALLED:
        at = path.find(installed)
        if at != -1:
            return path[: at + len(installed) - 1]
    return path


def _files(
    roots: Iterable[str], *, without: Sequence[str], opened: Container[str]
) -> Iterator[tuple[str, os.stat_result]]:
    pending = list(roots)
    seen = 0
    while pending:
        path = pending.pop()
        seen += 1
        if seen > MOST_ENTRIES:
            message = f"what Callgate runs from, or the granted directories, hold more than {MOST_ENTRIES} files"
            raise PermissionError(f"{message}, too many to look for hard links; run programs in another directory")
        if any(is_inside(path, place) for place in without):
            continue
        try:
            status = os.lstat(path)
            names = os.listdir(path) if stat.S_ISDIR(status.st_mode) else ()  # noqa: PTH208 - a text all along
        except OSError:
            continue
        inner = ((name, f"{path}/{name}") for name in names)
        pending += (place for name, place in inner if not is_git(part_of_key(name)) or place in opened)
        if stat.S_ISREG(status.st_mode):
            yield path, status
