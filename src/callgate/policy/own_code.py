"""What Callgate runs from: its own code, its libraries and its interpreter's. Read-only to tools, as `.git` is.

Whoever may write there decides what the next start of Callgate does, with its keys in hand; and a project often has its
environment among its files, or a link to one.
"""

from __future__ import annotations

import os
import site
import sys
import sysconfig
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from callgate.policy.ways import follow, is_inside

_LIBRARIES = ("stdlib", "platstdlib", "purelib", "platlib", "scripts")
_INSTALLED = ("site-packages", "dist-packages")
_OF_PREFIX = ("bin", "lib", sys.platlibdir, "pyvenv.cfg")
"""Not the whole of it: somebody may have made it in the folder of his project, or it is the system's."""
_FOLDERS_OF_ENVIRONMENTS = (".venv", "venv")
_OF_ENVIRONMENT = frozenset((*_OF_PREFIX, "lib64", "include", "share", "etc", "man", ".gitignore", ".lock"))
"""Where there is nothing else, a prefix is an environment in a folder of its own, and counts as a whole."""


@cache
def own_code() -> tuple[str, ...]:
    """The real places, there or not, none inside another."""
    real = sorted({os.path.realpath(place) for place in _named()}, key=len)
    return tuple(place for at, place in enumerate(real) if not any(is_inside(place, other) for other in real[:at]))


@cache
def ways_to_code() -> tuple[str, ...]:
    """Links over which these places are found and that lie in none of them: whoever replaces one chooses the code."""
    links = dict.fromkeys(link for place in (sys.executable, *_named()) for link in _links(place))
    return tuple(link for link in links if not any(is_inside(link, place) for place in own_code()))


def _named() -> Iterator[str]:
    """As Python itself names them, over whichever links."""
    for prefix in {sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix}:
        if _is_alone(prefix):
            yield prefix
        yield from (os.path.join(prefix, name) for name in _OF_PREFIX)  # noqa: PTH118 - texts all along
    yield from map(sysconfig.get_path, _LIBRARIES)
    yield from (place for place in sys.path if place.endswith(_INSTALLED) and os.path.isabs(place))  # noqa: PTH117
    if site.ENABLE_USER_SITE:
        yield site.getusersitepackages()
    yield str(Path(__file__).parent.parent)


def _is_alone(prefix: str) -> bool:
    """Whether it is an environment with nothing else beside it."""
    try:
        names = os.listdir(prefix)  # noqa: PTH208 - a text all along
    except OSError:
        return False
    named = os.path.basename(prefix) in _FOLDERS_OF_ENVIRONMENTS  # noqa: PTH119 - as above
    return "pyvenv.cfg" in names and (named or _OF_ENVIRONMENT.issuperset(names))


def _links(place: str) -> tuple[str, ...]:
    try:
        return follow(place).links
    except PermissionError:
        return ()
