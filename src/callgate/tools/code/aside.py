"""Aside: what a program made that git would take for its own is renamed, so that no git does."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable, Iterator, Sequence

from callgate.tools.code.inventory import Inventory, open_up, shown, take_again
from callgate.tools.code.mounts import is_inside


def set_aside(before: Inventory, absent: Iterable[str], *, roots: Sequence[str], granted: Sequence[str]) -> list[str]:
    """Rename every `.git` that was not there before the program; what was done, for people.

    Args:
        before: What was there.
        absent: Where a `.git` leads to, and nothing was.
        roots: The directories that the program could write to.
        granted: The `.git` that it may.
    """
    after = take_again([root for root in roots if os.path.isdir(root)], before)  # noqa: PTH112 - a text all along
    known = set(before.git.values())
    made = [path for path, identity in after.git.items() if identity not in known]
    made += [path for path in absent if os.path.lexists(path)]
    # What lies inside of another comes first: afterwards its path is no longer the same.
    return [*_renamed(sorted(made, key=len, reverse=True), granted), *_unseen(after)]


def _renamed(paths: Iterable[str], granted: Sequence[str]) -> Iterator[str]:
    for path in paths:
        if not any(is_inside(path, each) for each in granted):
            yield f"it made {shown(path)}, which tools may not: {_rename(path)}"


def _unseen(after: Inventory) -> Iterator[str]:
    yield from (f"{shown(path)} cannot be looked into" for path in after.unseen)
    if after.too_long is not None:
        yield f"it made a path that is too long to be looked at, so remove it: {shown(after.too_long)}"


def _rename(path: str) -> str:
    aside = f"{path}.set-aside-{secrets.token_hex(4)}"
    try:
        open_up(os.path.dirname(path), os.W_OK | os.X_OK)  # noqa: PTH120 - a text all along
        os.rename(path, aside)  # noqa: PTH104
    except OSError as error:
        return f"remove it, since it could not be renamed ({error.strerror})"
    return f"it was renamed to {os.path.basename(aside)}"  # noqa: PTH119
