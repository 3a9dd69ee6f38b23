"""Kept: what is kept from tools, under every name that mounts give it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from callgate.policy.mount_table import MountTable
from callgate.policy.own_code import own_code, ways_to_code
from callgate.policy.own_files import OwnFiles


@dataclass(frozen=True, slots=True)
class Kept:
    """Worked out once, until something is mounted or more is to be kept."""

    named: OwnFiles
    """Callgate's own files as they were named."""
    mounts: MountTable
    own: OwnFiles
    code: tuple[str, ...]
    """What Callgate runs from."""
    ways_to_code: tuple[str, ...]
    """Links over which it is found."""

    @classmethod
    def of(cls, named: OwnFiles, mounts: MountTable) -> Self:
        """Look where else these are."""
        code, ways = own_code(), ways_to_code()
        own = named.with_more(mounts.everywhere(named.paths))
        # What lies beside a file may be mounted by itself.
        beside = [path for path in mounts.everywhere(named.places) if not own.holds(path)]
        return cls(
            named,
            mounts,
            own.with_more(beside),
            (*code, *mounts.everywhere(code)),
            (*ways, *mounts.everywhere(ways)),
        )
