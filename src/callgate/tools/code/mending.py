"""Mending: what ruff would change in files, as a difference that a person reads before it does.

Ruff looks at many files at once, and tells them in the order in which it came to their end: here each has its place.
"""

from __future__ import annotations

import hashlib
import os
import re
from functools import partial

from callgate.model.counted import counted
from callgate.tools.replacing import shown

_BEGINS = re.compile(r"^(?=--- .*\n\+\+\+ .*\n@@ )", re.MULTILINE)
"""Where the difference of a file begins. Its own lines have no such three in a row: after two that were changed come
more of the same, one that was not, or the next file."""
_NAMES = re.compile(r"\A--- (.*)\n\+\+\+ (.*)\n")


class Mending:
    """What would change, worked out from what `ruff check --diff` says without a summary.

    It names files as they are called `inside` the directory it ran in; a person reads where that is, too.
    """

    def __init__(self, said: bytes, *, inside: str) -> None:
        text = said.decode(errors="backslashreplace")
        parts = (part.rstrip("\n") + "\n" for part in _BEGINS.split(text) if part.strip())
        self._files = sorted(_NAMES.sub(partial(_renamed, inside), part) for part in parts)

    @property
    def state(self) -> str:
        """What differs where something else would change; an approval binds it."""
        return hashlib.sha256("\n".join(self._files).encode()).hexdigest()

    def told(self, place: str) -> str:
        """For people."""
        if not self._files:
            return f"would look at {place} with ruff, and finds nothing there that it can mend safely"
        difference = "\n".join(self._files)
        return f"would mend {counted(len(self._files), 'file')} in {place} with ruff:\n{shown(difference)}"


def _renamed(inside: str, names: re.Match[str]) -> str:
    before, after = (os.path.normpath(os.path.join(inside, name)) for name in names.groups())  # noqa: PTH118 - texts
    return f"--- {before}\n+++ {after}\n"
