"""Git links: second names, outside of git's directories, of files that lie in them.

`ln scripts/pre-commit .git/hooks/` is how some projects put their hooks in place. A mount over `.git` does not keep the
other name from being written, and what is written there is in `.git`. So it is with what governs another Callgate.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Sequence

from callgate.policy.ways import is_inside
from callgate.tools.code.inventory import MOST_ENTRIES, Identity

MOST_NAMES = 1000
"""Each is a mount, and these take time."""
_IN_GIT = "lie in a .git as well, as hard links; make copies of them (git clone --no-hardlinks)"


def second_names(
    git: Iterable[str], roots: Sequence[str], *, granted: Sequence[str], closed: Iterable[str] = (), are: str = _IN_GIT
) -> list[str]:
    """Files in directories that a program gets, which lie in a `.git` that it may not write as well.

    Args:
        git: Git's directories, and files that are a `.git`; or other files that are kept as these are.
        roots: What the program may write to.
        granted: What it may write to of git's.
        closed: What it does not get of these.
        are: What they are that were found, and what to do about too many.

    Raises:
        PermissionError: There are too many to be looked after.
    """
    shut = frozenset(path for path in git if not any(is_inside(path, each) for each in granted))
    linked = frozenset(_linked(shut, granted=frozenset(granted)))
    if not linked:
        return []
    found: list[str] = []
    for path, status in _files(roots, without=shut.union(closed), still=granted):
        if (status.st_dev, status.st_ino) in linked:
            found.append(path)
        if len(found) > MOST_NAMES:
            raise PermissionError(f"more than {MOST_NAMES} files in the granted directories {are}")
    return found


def _linked(git: Iterable[str], *, granted: frozenset[str]) -> Iterator[Identity]:
    for path, status in _files(git, without=granted):
        if status.st_nlink > 1 and path not in granted:
            yield status.st_dev, status.st_ino


def _files(
    roots: Iterable[str], *, without: frozenset[str], still: Sequence[str] = ()
) -> Iterator[tuple[str, os.stat_result]]:
    """Every file, following no link, but what lies in some directories; and still those that lie in others in them."""
    pending = [root for root in roots if root not in without]
    pending += [path for path in still if any(is_inside(path, root) for root in roots)]
    for seen, path in enumerate(pending):
        if seen > MOST_ENTRIES:
            message = f"git's directories hold more than {MOST_ENTRIES} files, too many to look after"
            raise PermissionError(f"{message}; run programs in another directory, or pack them (git gc)")
        try:
            status = os.lstat(path)
            if stat.S_ISDIR(status.st_mode):
                pending += (inner for name in os.listdir(path) if (inner := f"{path}/{name}") not in without)  # noqa: PTH208
        except OSError:
            continue
        if stat.S_ISREG(status.st_mode):
            yield path, status
