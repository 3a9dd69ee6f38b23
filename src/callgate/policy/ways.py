"""Ways: where a path really leads, and over which links.

A link in a directory that a program may write to can be replaced by it, and then the path leads elsewhere: whoever
keeps what lies at the end of a path has to know of them.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import NamedTuple

_MOST_LINKS = 40


class Way(NamedTuple):
    """What a path comes to."""

    real: str
    """Without links; what is not there is taken as it is written."""
    links: tuple[str, ...]
    """Where each link lies that was followed."""


def follow(path: str) -> Way:
    """Follow an absolute path part by part.

    Raises:
        PermissionError: It leads in a circle.
    """
    links: list[str] = []
    place, pending = os.sep, parts_of(path)[::-1]
    while pending:
        part = pending.pop()
        step = os.path.dirname(place) if part == ".." else os.path.join(place, part)  # noqa: PTH118, PTH120
        target = None if part == ".." else _link(step)
        if target is None:
            place = step
            continue
        links.append(step)
        if len(links) > _MOST_LINKS:
            raise PermissionError(f"{path} leads in a circle of links; put a directory there")
        pending += parts_of(target)[::-1]
        place = os.sep if target.startswith(os.sep) else place
    return Way(place, tuple(links))


def is_inside(path: str, root: str) -> bool:
    """Whether a path is that directory or lies in it."""
    return path == root or path.startswith(root if root.endswith(os.sep) else root + os.sep)


def way_to(path: str) -> Iterator[str]:
    """Every directory from the top to an absolute path, and the path itself."""
    at = path.find(os.sep)
    while at != -1:
        yield path[:at] or os.sep
        at = path.find(os.sep, at + 1)
    yield path


def overlap(roots: Iterable[str], others: Iterable[str]) -> list[str]:
    """What lies in one of these and in one of those: of each two the inner one, if one lies in the other."""
    others = list(others)
    return [
        root if is_inside(root, other) else other
        for root in roots
        for other in others
        if is_inside(root, other) or is_inside(other, root)
    ]


def parts_of(path: str) -> list[str]:
    """The names in a path, by which it is sorted behind what it lies in."""
    return [part for part in path.split("/") if part not in ("", ".")]


def _link(path: str) -> str | None:
    try:
        return os.readlink(path)  # noqa: PTH115 - a text all along
    except OSError:
        return None
