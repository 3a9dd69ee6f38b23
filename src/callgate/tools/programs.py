"""Programs: where a program lies that a tool starts, outside of every sandbox.

Never where a tool may write: what lies there may be a model's own, and the process that starts it has Callgate's keys.
Where `/` is granted that means the working directory alone. What Callgate itself runs from is no such place, also in
the middle of a project, since it is read-only to tools.
"""

from __future__ import annotations

import os
import shutil
import sysconfig

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
