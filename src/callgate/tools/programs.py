"""Programs: where a program lies that a tool starts."""

from __future__ import annotations

import os
import shutil
import sysconfig


def find_program(name: str) -> str | None:
    """Where it lies: beside this Python, where extras bring theirs, or on the search path; None if nowhere.

    An entry of the search path that is not absolute is left out: it means wherever the process happens to be, and
    tools may write there.
    """
    places = [sysconfig.get_path("scripts"), *os.get_exec_path()]
    return shutil.which(name, path=os.pathsep.join(place for place in places if os.path.isabs(place)))  # noqa: PTH117
