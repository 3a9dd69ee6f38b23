"""Others: what governs another Callgate, and its store, in the directories of a program, also where a link leads there.

What a link leads to is kept where it is, and so are the directories above both; the link itself is put back.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from callgate.policy.mount_table import MountTable
from callgate.policy.ways import Way, is_inside, parts_of
from callgate.tools.code.inventory import Inventory, Which, holding, open_up, shown, which_of
from callgate.tools.code.links import behind, fixed


@dataclass(frozen=True, slots=True)
class Link:
    """A link by which another Callgate finds what is its own."""

    path: str
    which: Which
    leads: str
    """What is written in it."""


@dataclass(frozen=True, slots=True)
class Others:
    """What belongs to other Callgates."""

    policies: tuple[str, ...]
    """Where they really lie, there or not, in what the program may write to; so do the stores."""
    stores: tuple[str, ...]
    only_read: tuple[str, ...]
    """Stores in what it may only read."""
    links: tuple[Link, ...]

    @classmethod
    def among(
        cls, before: Inventory, *, writable: Sequence[str], readable: Sequence[str], mounts: MountTable
    ) -> Others:
        """Find what was found by its name where it really lies.

        Args:
            before: What was found.
            writable: What the program may change.
            readable: What it may only read.
            mounts: What is mounted.

        Raises:
            PermissionError: It cannot be kept; says why.
        """
        policies = _real(before.configurations, writable=writable, mounts=mounts)
        stores = _real(before.stores, writable=writable, mounts=mounts)
        _refuse_around((store for store in stores if store not in before.stores), (*writable, *readable))
        kept = tuple(_inside(stores, writable))
        return cls(
            tuple(_inside(policies, writable)),
            kept,
            tuple(store for store in _inside(stores, readable) if store not in kept),
            tuple(_links(before.configurations | before.stores, writable)),
        )


def replaced(links: Iterable[Link]) -> list[str]:
    """Where something else lies than the link that lay there."""
    return [link.path for link in links if which_of(link.path) not in (None, link.which)]


def put_back(links: Iterable[Link], roots: Sequence[str]) -> Iterator[str]:
    """Make the links again that are gone, when what took their place was set aside; what was done, for people."""
    for link in links:
        # What could not be set aside is told already.
        if which_of(link.path) is not None:
            continue
        try:
            _make(link, next(root for root in roots if is_inside(link.path, root)))
        except OSError as error:
            why = f"could not be put back, so make it again ({error.strerror}): it led to {shown(link.leads)}"
        else:
            why = "was put back"
        yield f"the link {shown(link.path)} is another Callgate's, and {why}"


def _real(paths: Iterable[str], *, writable: Sequence[str], mounts: MountTable) -> list[str]:
    ways = [(path, behind(path) if _is_link(path) else Way(path, ())) for path in paths]
    real = list(fixed(ways, writable))
    # What has the name itself is found by it wherever it is mounted.
    more = [name for (path, way) in ways if way.real != path for name in mounts.names(way.real)]
    return list(dict.fromkeys((*real, *more)))


def _refuse_around(stores: Iterable[str], writable: Iterable[str]) -> None:
    stores = tuple(stores)
    for root in writable:
        for store in stores:
            if is_inside(root, store):
                message = f"{root} lies in {store}, which is the store of another Callgate"
                raise PermissionError(f"{message}; run programs in another directory")


def _inside(paths: Iterable[str], writable: Sequence[str]) -> Iterator[str]:
    return (path for path in paths if any(is_inside(path, root) for root in writable))


def _links(found: dict[str, Which], writable: Sequence[str]) -> Iterator[Link]:
    for path in _inside(found, writable):
        with contextlib.suppress(OSError):
            yield Link(path, found[path], os.readlink(path))  # noqa: PTH115 - a text all along


def _is_link(path: str) -> bool:
    return os.path.islink(path)  # noqa: PTH114 - a text all along


def _make(link: Link, root: str) -> None:
    """Make it by handles and over no link, as what took its place was set aside."""
    *above, name = parts_of(link.path[len(root) :])
    with contextlib.ExitStack() as held:
        folder = held.enter_context(holding(root))
        for part in above:
            open_up(folder, os.X_OK)
            folder = held.enter_context(holding(part, within=folder))
        open_up(folder, os.W_OK | os.X_OK)
        os.symlink(link.leads, name, dir_fd=folder)
