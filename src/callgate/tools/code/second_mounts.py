"""Second mounts: what a program would get under a name that does not say what it is, because it is mounted there.

What is mounted in a granted directory comes along with it, and what is put over one name of a place covers no other.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

from callgate.policy.git_places import is_in_git
from callgate.policy.mount_table import MountTable
from callgate.policy.own_files import is_configuration, is_store, key_of
from callgate.policy.ways import is_inside
from callgate.tools.code.inventory import Inventory, which_of


@dataclass(frozen=True, slots=True)
class SecondMounts:
    """What is mounted in the directories of one program."""

    mounts: MountTable
    points: tuple[str, ...]
    """Where something lies that has other names as well, or one that tells what it is."""
    processes: tuple[str, ...]
    """Where that is which shows what processes know."""

    @classmethod
    def within(cls, given: Sequence[str], mounts: MountTable) -> SecondMounts:
        """Look through the table.

        Args:
            given: What the program gets.
            mounts: What is mounted.

        Raises:
            PermissionError: A directory itself shows what processes know.
        """
        for root in given:
            if any(is_inside(root, point) for point in mounts.process_points):
                message = f"{root} shows what processes know, Callgate's keys and secrets among it"
                raise PermissionError(f"{message}; grant another directory")
        return cls(mounts, tuple(_inside(mounts.points, given)), tuple(_inside(mounts.process_points, given)))

    def is_of_git(self, path: str, *, granted: Iterable[str] = ()) -> bool:
        """Whether a path leads to what is git's, and is not granted under any of its names."""
        names = (path, *self.mounts.names(path))
        opened = any(is_inside(name, each) for name in names for each in granted)
        return not opened and is_in_git(path, self.mounts)

    def note(self, before: Inventory) -> None:
        """Add what is another Callgate's to what was found by its name."""
        for point in self.points:
            names = [*self.mounts.called(point), *chain(*map(key_of, self.mounts.names(point)))]
            which = which_of(point)
            if which is None:
                continue
            if any(map(is_store, names)):
                before.stores[point] = which
            elif any(map(is_configuration, names)):
                before.configurations[point] = which


def _inside(points: Iterable[str], given: Iterable[str]) -> Iterable[str]:
    given = tuple(given)
    return (point for point in points if any(is_inside(point, root) for root in given))
