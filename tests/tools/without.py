"""An installation that lacks one library, for a Python that is started with `-S` and this path."""

from __future__ import annotations

import os
import sysconfig
from pathlib import Path

import callgate


def installed_without(module: str, where: Path) -> str:
    """The places to import from of an installation that has everything but this library, made in a new folder."""
    where.mkdir()
    for found in Path(sysconfig.get_path("purelib")).iterdir():
        if found.name != module:
            (where / found.name).symlink_to(found)
    return os.pathsep.join([str(Path(callgate.__file__).parents[1]), str(where)])
