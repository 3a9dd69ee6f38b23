"""Links: symbolic links where a program may write. It can put something else there, and nothing can be put over one.

What lies behind a single one is kept where it is, and what became of the link is looked at afterwards. Behind one that
is found over another nothing can be.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from callgate.policy.ways import Way, follow, is_inside


def behind(link: str) -> Way:
    """Where a link leads, and over which others.

    Raises:
        PermissionError: It leads in a circle.
    """
    way = follow(link)
    # That it was replaced itself is seen afterwards.
    return Way(way.real, tuple(each for each in way.links if each != link))


def fixed(ways: Iterable[tuple[str, Way]], writable: Iterable[str]) -> Iterator[str]:
    """Where each of them leads, if it will lead there whatever a program does.

    Args:
        ways: Each with what is found so.
        writable: Where the program may write.

    Raises:
        PermissionError: It does not.
    """
    writable = tuple(writable)
    for path, way in ways:
        for link in way.links:
            if any(is_inside(link, root) for root in writable):
                message = f"{link} is a link, which a program could replace, and {path} is found through it"
                raise PermissionError(f"{message}; put the directory or file itself there, or run programs elsewhere")
        yield way.real
