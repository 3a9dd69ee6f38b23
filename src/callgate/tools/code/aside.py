"""Aside: what a program made that git, or a Callgate, would take for its own is renamed, so that none does.

Only what lies in the directories that the program had, as it is reached from there by handle and over no link: where
one is on the way, it is what the program made, and is renamed itself.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from callgate.policy.ways import is_inside, parts_of, way_to
from callgate.tools.code.births import born
from callgate.tools.code.inventory import Inventory, Which, holding, open_up, shown, take_again

_MOST_TOLD = 50
RENAMED = ": it was renamed to "


class Spared(NamedTuple):
    """What is not renamed."""

    granted: Sequence[str]
    """The `.git` that the program may write to."""
    own: Sequence[str]
    """Callgate's own places."""
    later_than: float | None = None
    """What came to be after this time of day is not the program's; None: all that is new is."""
    links: Mapping[str, str] = MappingProxyType({})
    """Links that somebody made again as they were, by where they lead; only where that may be."""


def set_aside(before: Inventory, absent: Iterable[str], *, roots: Sequence[str], spared: Spared) -> list[str]:
    """Rename every `.git`, every file that governs a Callgate and every link `.callgate` that was not there before.

    Args:
        before: What was there.
        absent: Where something would be found by what was there, and nothing was, or something else is now.
        roots: The directories that the program could write to.
        spared: What is left where it is.

    Returns:
        What was done, for people.
    """
    after = take_again([root for root in roots if os.path.isdir(root)], before)  # noqa: PTH112 - a text all along
    made = _new(after.git, before.git)
    made += [path for path in absent if os.path.lexists(path) or _lies_behind_link(path)]
    # A policy for whoever starts a Callgate there; our own is kept, and written by nobody but us.
    governing = _new(after.configurations, before.configurations)
    # A folder may be the store of a Callgate that was started meanwhile, which makes no link.
    governing += [path for path in _new(after.stores, before.stores) if os.path.islink(path)]  # noqa: PTH114
    made += [path for path in governing if not any(is_inside(path, place) for place in spared.own)]
    # What lies inside of another comes first: afterwards its path is no longer the same.
    deepest = sorted(dict.fromkeys(made), key=len, reverse=True)
    return [*first(_renamed(deepest, roots=roots, spared=spared)), *first(_unseen(after))]


def first(notes: Iterable[str]) -> Iterator[str]:
    """As many as somebody reads, and how many more there are: a program can make as many as it likes."""
    # What is left to somebody to do comes first: a program could hide it behind the others.
    told = sorted(notes, key=lambda note: RENAMED in note)
    yield from told[:_MOST_TOLD]
    if len(told) > _MOST_TOLD:
        yield f"and so on, for {len(told) - _MOST_TOLD} more"


def _new(after: Mapping[str, Which], before: Mapping[str, Which]) -> list[str]:
    known = set(before.values())
    return [path for path, which in after.items() if which not in known]


def _lies_behind_link(path: str) -> bool:
    """Whether a path on whose way no link was has one now: whatever it leads to, or nothing, it would be followed."""
    return any(map(os.path.islink, way_to(path)))


def _renamed(paths: Iterable[str], *, roots: Sequence[str], spared: Spared) -> Iterator[str]:
    for path in paths:
        root = next((root for root in roots if is_inside(path, root)), None)
        if root is None or any(is_inside(path, each) for each in spared.granted):
            continue
        try:
            yield from _set_aside(root, parts_of(path[len(root) :]), spared=spared)
        except OSError as error:
            why = f"remove it, since it could not be renamed ({error.strerror})"
            yield f"it made {shown(path)}, which tools may not: {why}"


def _unseen(after: Inventory) -> Iterator[str]:
    yield from (f"{shown(path)} cannot be looked into" for path in after.unseen)
    if after.too_long is not None:
        yield f"it made a path that is too long to be looked at, so remove it: {shown(after.too_long)}"


def _set_aside(root: str, names: Sequence[str], *, spared: Spared) -> Iterator[str]:
    """Rename what is at the end of the way, or the first thing on it that is no directory."""
    path = root
    with contextlib.ExitStack() as held:
        folder = held.enter_context(holding(root))
        for left, name in zip(range(len(names) - 1, -1, -1), names, strict=True):
            open_up(folder, os.X_OK)
            path = os.path.join(path, name)  # noqa: PTH118 - a text all along
            try:
                mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
            except FileNotFoundError:
                return
            if left and stat.S_ISDIR(mode):
                folder = held.enter_context(holding(name, within=folder))
                continue
            if _is_as_it_was(name, folder, leads=spared.links.get(path)):
                return
            if _is_later(name, folder, than=spared.later_than):
                yield f"{shown(path)} is new, and was left, since it was made when that program had ended"
                return
            yield f"it made {shown(path)}, which tools may not{_rename(name, folder, path=path, own=spared.own)}"
            return


def _is_as_it_was(name: str, folder: int, *, leads: str | None) -> bool:
    try:
        return leads is not None and os.readlink(name, dir_fd=folder) == leads
    except OSError:
        return False


def _is_later(name: str, folder: int, *, than: float | None) -> bool:
    """Whether it is known to be: where no birth is known, it may be what the program made."""
    if than is None:
        return False
    birth = born(name, folder)
    return birth is not None and birth > than


def _rename(name: str, folder: int, *, path: str, own: Iterable[str]) -> str:
    # What is not there is in nobody's way: a place may be kept for a file that Callgate has not made yet.
    kept = [place for place in own if is_inside(path, place) or (is_inside(place, path) and os.path.lexists(place))]
    if kept:
        return f": it was left, since {kept[0]} is Callgate's own"
    # What follows a colon does not count in a name, and so would not make it another one.
    aside = f"{name.replace(':', '_')}.set-aside-{secrets.token_hex(4)}"
    open_up(folder, os.W_OK | os.X_OK)
    os.rename(name, aside, src_dir_fd=folder, dst_dir_fd=folder)
    return f"{RENAMED}{aside}"
