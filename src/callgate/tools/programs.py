"""Programs: where a program lies that a tool starts, outside of every sandbox, and whether its end can be known.

Never where a tool may write: what lies there may be a model's own, and the process that starts it has Callgate's keys.
Where `/` is granted that means the working directory alone. What Callgate itself runs from is no such place, also in
the middle of a project, since it is read-only to tools.
"""

from __future__ import annotations

import os
import shutil
import signal
import sysconfig
from pathlib import Path

from callgate.model.grounds import Grounds
from callgate.policy.ways import follow, is_inside

_BESIDE = os.path.realpath(sysconfig.get_path("scripts"))
"""Followed once, at the start: a link to an environment may lie among granted files, and be replaced later."""


def find_program(name: str, grounds: Grounds | None = None) -> str | None:
    """Where it lies: beside this Python, where extras bring theirs, or on the search path; None if nowhere.

    An entry of the search path that is not absolute is left out: it means wherever the process happens to be, and
    tools may write there.

    Args:
        name: The program.
        grounds: Where tools may write, of the call that starts it; None only tells whether there is one.
    """
    for place in (_BESIDE, *os.get_exec_path()):
        found = shutil.which(name, path=place) if os.path.isabs(place) else None  # noqa: PTH117 - a text all along
        if found is not None and (grounds is None or _is_out_of_reach(found, grounds)):
            return found
    return None


def ends_unknown() -> str | None:
    """Why this process is not told how a program ended (to Python it is always 0), and what to do; None where it is."""
    if not _ignores_children():
        return None
    how = "start it with env --default-signal=CHLD, or call signal.signal(signal.SIGCHLD, signal.SIG_DFL) first"
    return f"this process ignores SIGCHLD, so nobody can tell how a program ended; {how}"


def _ignores_children() -> bool:
    try:
        status = Path("/proc/self/status").read_bytes()
    except OSError:
        return signal.getsignal(signal.SIGCHLD) is signal.SIG_IGN
    # Not what Python knows: a library may have asked to be told without it.
    ignored = next((line for line in status.splitlines() if line.startswith(b"SigIgn:")), b"SigIgn: 0")
    return bool(int(ignored.split()[1], 16) >> (signal.SIGCHLD - 1) & 1)


def _is_out_of_reach(program: str, grounds: Grounds) -> bool:
    """Whether no tool may replace it, nor a link that leads to it."""
    try:
        way = follow(program)
    except PermissionError:
        return False
    # Where everything is granted no program would be left: decision 0022.
    writable = [grounds.directory if root == os.sep else root for root in (*grounds.roots, *grounds.others)]
    return not any(
        is_inside(place, root) and not any(is_inside(place, code) for code in grounds.code)
        for place in (program, *way.links, way.real)
        for root in writable
    )
