"""What Callgate runs from: its own code, its libraries and its interpreter's. Read-only to tools, as `.git` is.

Whoever may write there decides what the next start of Callgate does, with its keys in hand; and a project often has its
environment among its files.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from functools import cache
from pathlib import Path

from callgate.policy.ways import is_inside

_LIBRARIES = ("stdlib", "platstdlib", "purelib", "platlib")
_OF_ENVIRONMENT = ("bin", "lib", "lib64", "Scripts", "Lib", "pyvenv.cfg")
"""Not the whole of it: somebody may have made it in the folder of his project."""


@cache
def own_code() -> tuple[str, ...]:
    """The real places, none inside another."""
    named = [sysconfig.get_path(name) for name in _LIBRARIES]
    named += [os.path.join(sys.prefix, name) for name in _OF_ENVIRONMENT if sys.prefix != sys.base_prefix]  # noqa: PTH118
    named.append(str(Path(__file__).parent.parent))
    real = sorted({os.path.realpath(place) for place in named}, key=len)
    return tuple(place for at, place in enumerate(real) if not any(is_inside(place, other) for other in real[:at]))
