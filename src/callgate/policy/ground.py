"""Ground: where the tools of one scope family may go, as the configuration says it and as it lies on the disk."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain

from callgate.policy.git_places import is_in_git, told_by
from callgate.policy.mount_table import MountTable
from callgate.policy.own_files import is_git, key_of
from callgate.policy.showing import show
from callgate.policy.ways import follow, is_inside


@dataclass(frozen=True, slots=True)
class Ground:
    """Where the tools of one scope family may go."""

    family: str
    roots: tuple[str, ...]
    """Real directories."""
    git: tuple[str, ...]
    """Those among them that are named in a `.git`, or in a repository without one, which opens it for writing."""
    void: tuple[str, ...] = ()
    """Entries that count for nothing, because a tool could choose where they lead; why, for people."""

    @classmethod
    def of(
        cls,
        family: str,
        entries: Iterable[str],
        *,
        working_directory: str,
        beside: Iterable[str] = (),
        mounts: MountTable | None = None,
    ) -> Ground:
        """Resolve what the configuration says; relative entries lie in the working directory.

        Args:
            family: Whose they are.
            entries: The directories, as they are written there.
            working_directory: A real one.
            beside: What is granted to other families.
            mounts: What is mounted.
        """
        entries = tuple(entries)
        places = [_placed(entry, working_directory) for entry in entries]
        everything = dict.fromkeys((*places, *(_placed(entry, working_directory) for entry in beside)))
        others = {place: os.path.realpath(place) for place in everything}
        void = {place: why for place in places if (why := _open_to_choice(place, others)) is not None}
        counting = [(place, entry) for place, entry in zip(places, entries, strict=True) if place not in void]
        mounts = mounts or MountTable()
        opened = (_opened_git(place, entry, base=working_directory, mounts=mounts) for place, entry in counting)
        git = tuple(chain.from_iterable(opened))
        return cls(family, tuple(os.path.realpath(place) for place, _ in counting), git, tuple(void.values()))


def _placed(entry: str, working_directory: str) -> str:
    return os.path.join(working_directory, os.path.expanduser(entry))  # noqa: PTH111, PTH118 - texts all along


def _open_to_choice(place: str, others: Mapping[str, str]) -> str | None:
    """Why a granted path would lead wherever a tool wants; None if it would not.

    A link in another granted directory can be replaced by a program there, and would be followed at the next start.
    """
    try:
        links = follow(place).links
    except PermissionError as error:
        return f"{show(place)} counts for nothing: {error}"
    for link in links:
        if any(link != real and is_inside(link, real) for other, real in others.items() if other != place):
            why = f"{show(link)} is a link in another granted directory, where tools could replace it"
            return f"{show(place)} counts for nothing: {why}; name what it leads to"
    return None


def _opened_git(place: str, entry: str, *, base: str, mounts: MountTable) -> Iterator[str]:
    """What an entry opens for writing by naming it: a `.git`, what it leads to, a repository that has none, its mount.

    To work in one does not name it: `.` opens nothing there.
    """
    real = os.path.realpath(place)
    if any(map(is_git, key_of(os.path.normpath(entry)))):
        # A file that only says where the directory is stays as it is: who may write it would choose what is opened.
        yield told_by(real) or real
    elif not is_inside(base, real) and is_in_git(real, mounts):
        yield real
