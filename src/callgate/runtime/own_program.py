"""Which program is this very Callgate: another that is only called so is somebody else's. Starts nothing."""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

OWN = "callgate"
_TURNED = ("PYTHON", "LD_", "DYLD_")
"""Variables by which a program becomes another one."""


def is_own_program(words: Sequence[str], what: str, *, folder: Path | None = None) -> bool:
    """Whether a command starts this Callgate with its command `what`, and no other program of that name.

    Args:
        words: The program and its arguments.
        what: `mcp` or `hook`.
        folder: Where it is started, if that is known: a module there would be taken for ours.
    """
    found = shutil.which(words[0]) if words else None
    if found is None:
        return False
    if list(words[1:2]) == [what]:
        return os.path.realpath(found) in _programs()
    if list(words[1:4]) != ["-m", OWN, what] or _absolute(found) != _absolute(sys.executable):
        return False
    return folder is None or not any((folder / name).exists() for name in (OWN, f"{OWN}.py"))


def is_this_server(entry: Mapping[str, Any], words: Sequence[str], *, folder: Path | None = None) -> bool:
    """Whether a host's entry of a server starts this Callgate, and nothing else under its name."""
    given = entry.get("env")
    names = [str(name).upper() for name in given] if isinstance(given, dict) else []  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    return not any(name.startswith(_TURNED) for name in names) and is_own_program(words, "mcp", folder=folder)


def _programs() -> set[str]:
    """Under which files this Callgate can be started; links to them are the same."""
    found = {
        os.path.realpath(Path(sysconfig.get_path("scripts")) / OWN),
        os.path.realpath(Path(sys.executable).parent / OWN),
    }
    running = Path(sys.argv[0])
    if running.name.removesuffix(".exe") == OWN and running.is_file():
        found.add(os.path.realpath(running))
    return found | {f"{each}.exe" for each in found}


def _absolute(path: str) -> str:
    # Not where links lead: two environments may share an interpreter, and not what is installed.
    return os.path.normcase(os.path.abspath(path))  # noqa: PTH100
