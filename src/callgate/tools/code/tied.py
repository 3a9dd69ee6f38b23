"""Tied: whether a sandbox that is being made would already end with us.

Bubblewrap's processes ask the kernel, one after the other, to be killed with their parent. Nothing tells when they
have; but what the sandbox's first process does right afterwards can be seen from outside: it takes the filter.
"""

from __future__ import annotations

from pathlib import Path


def ends_with_us(init: int, outer: int) -> bool:
    """Whether the first process of a sandbox has asked for it; the one outside has before it says which that is.

    Args:
        init: The first process inside.
        outer: Bubblewrap's own, which takes no filter.

    Raises:
        ProcessLookupError: One of them has ended.
    """
    inside, around = _filters(init), _filters(outer)
    if None in (inside, around):
        raise ProcessLookupError
    # Where a filter was over everything already, and an old kernel does not count them, it cannot be told.
    return inside != around or around == (2, 0)


def _filters(pid: int) -> tuple[int, int] | None:
    """Whether it has a filter (2 is yes), and how many."""
    try:
        lines = Path(f"/proc/{pid}/status").read_bytes().splitlines()
    except OSError:
        return None
    said = {name: value for name, _, value in (line.partition(b":") for line in lines)}
    return int(said.get(b"Seccomp", 0)), int(said.get(b"Seccomp_filters", 0))
