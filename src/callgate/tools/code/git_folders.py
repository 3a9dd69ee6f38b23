"""Git folders: where git keeps what belongs to a working tree, besides a directory `.git` in it.

A `.git` may be a link or a file that names the directory; that one may name another, which it has in common with other
working trees; and a repository may have no working tree at all, and then it has only a shape.
"""

from __future__ import annotations

import os
from collections.abc import Container, Iterator

from callgate.policy.git_places import SHAPES, named_by, said_in
from callgate.policy.ways import Way, follow
from callgate.tools.code.links import behind


def has_shape(names: Container[str]) -> bool:
    """Whether a directory with these names in it is a repository to git, or a part of one."""
    return any(all(name in names for name in shape) for shape in SHAPES)


def is_repository(path: str) -> bool:
    """Whether that is a directory of such a shape: something may be said to be one, and be the whole disk."""
    try:
        return has_shape(os.listdir(path))  # noqa: PTH208 - a text all along
    except OSError:
        return False


def led_to(path: str) -> Iterator[Way]:
    """The directories that belong to a `.git`, or to a directory of that shape, and lie elsewhere."""
    way = _told_by(path)
    if way is not None:
        yield way
    folder = path if way is None else way.real
    said = said_in(os.path.join(folder, "commondir"))  # noqa: PTH118 - a text all along
    if said:
        yield follow(os.path.join(folder, said))  # noqa: PTH118


def _told_by(path: str) -> Way | None:
    if os.path.islink(path):  # noqa: PTH114 - a text all along
        return behind(path)
    named = named_by(path)
    return None if named is None else follow(named)
