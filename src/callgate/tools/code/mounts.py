"""Mounts: what a program in the sandbox sees of the machine, as options of bubblewrap.

The system's programs and libraries, read-only; a few files of /etc; a /tmp, /dev and /proc of its own. No home
directory, no /var, /run, /sys, /opt or /root, and of the rest only what is added: the granted directories.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path

from callgate.policy.ways import is_inside

_TOP = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
_OF_ETC = (
    *("alternatives", "group", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime", "mime.types"),
    *("nsswitch.conf", "passwd", "protocols", "services", "timezone"),
)
_NOT_OF_THE_SYSTEM = ("/usr/local/etc",)
"""Settings of programs that somebody put there: they may hold secrets."""
SYSTEM = ("/usr", *(f"/{name}" for name in _TOP))
"""Where a program sees what is everybody's."""
SEEN = (*SYSTEM, *(f"/etc/{name}" for name in _OF_ETC))
"""All that every program sees of the machine."""
_MADE = ("/proc", "/dev", "/sys")
ENVIRONMENT = {"HOME": "/tmp", "LANG": "C.UTF-8", "PATH": "/usr/local/bin:/usr/bin:/bin"}  # noqa: S108 - its own
"""All that a program's environment has, beside PWD."""


@lru_cache
def of_system() -> tuple[str, ...]:
    """Options for what every program sees."""
    options = ["--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL", "--ro-bind", "/usr", "/usr"]
    for name in _TOP:
        top = Path("/", name)
        if top.is_symlink():
            options += ("--symlink", str(top.readlink()), str(top))
        elif top.is_dir():
            options += ("--ro-bind", str(top), str(top))
    for name in _OF_ETC:
        options += ("--ro-bind-try", f"/etc/{name}", f"/etc/{name}")
    for place in _NOT_OF_THE_SYSTEM:
        if Path(place).is_dir():
            options += cover(place)
    # The kernel's settings in /proc belong to root, who may write them without any capability: so nobody may.
    options += ("--proc", "/proc", "--remount-ro", "/proc", "--dev", "/dev", "--tmpfs", "/tmp")  # noqa: S108 - its own
    for name, value in ENVIRONMENT.items():
        options += ("--setenv", name, value)
    return tuple(options)


def usable(roots: Iterable[str], directory: str) -> tuple[str, ...]:
    """The directories to hand to a program: where everything is granted, the working directory.

    Raises:
        PermissionError: None of them can be handed over.
    """
    wanted = [directory if root == os.sep else root for root in roots]
    made = [root for root in wanted if any(is_inside(root, place) for place in _MADE) or root == os.sep]
    if made:
        raise PermissionError(f"programs cannot work in {made[0]}: the sandbox has its own; grant another directory")
    there = tuple(root for root in dict.fromkeys(wanted) if os.path.exists(root))  # noqa: PTH110 - a text all along
    for root in there:
        if os.path.realpath(root) != root:
            message = f"{root} was granted and is now found through a link, which leads to {os.path.realpath(root)}"
            raise PermissionError(f"{message}; put the directory back, or grant what the link leads to")
    if not there:
        raise PermissionError("no directory is granted that exists, so programs have nowhere to work")
    return there


def between(path: str, root: str) -> Iterator[str]:
    """The directories on the way from a root to a path in it, without both."""
    above = os.path.dirname(path)  # noqa: PTH120 - a text all along
    steps: list[str] = []
    while is_inside(above, root) and above != root:
        steps.append(above)
        above = os.path.dirname(above)  # noqa: PTH120
    yield from reversed(steps)


def cover(path: str) -> tuple[str, ...]:
    """Options that put nothing over what is at a path: a directory is empty, a file cannot be opened."""
    if os.path.isdir(path):  # noqa: PTH112 - a text all along
        return ("--tmpfs", path, "--remount-ro", path)
    return ("--ro-bind", os.devnull, path)
