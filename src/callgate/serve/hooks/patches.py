"""Patches of Codex: which files one touches. Applies nothing, and knows no gate.

Versions of Codex differ in where they trim a line before they look for a header. So every line that one of them could
take for a header counts as one, and a patch with a line that only looks like one is not understood.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from callgate.runtime.host_arguments import Misread

_HEADER = re.compile(r"\*\*\* (Add File|Update File|Delete File|Move to): (.*)", re.DOTALL)
_FRAME = frozenset({"*** Begin Patch", "*** End Patch", "*** End of File"})
_LIKE_A_HEADER = re.compile(r"\*{3}[^*:]*:|\*{3}\W*(?:begin|end)\W*(?:patch|of)", re.IGNORECASE)
_MOVE = "Move to"


@dataclass(frozen=True, slots=True)
class Touched:
    """A file that a patch names."""

    path: str
    deleted: bool


def touched(patch: str) -> list[Touched]:
    """The files that a patch touches, in its order.

    Raises:
        Misread: It names none, or has a line that some version could take for a header of its own.
    """
    # Nothing but a line feed ends a line there; every other character belongs to it.
    found = [_touched(line) for line in patch.split("\n")]
    files = [each for each in found if each is not None]
    if not files:
        raise Misread("the patch names no file")
    return files


def _touched(line: str) -> Touched | None:
    trimmed = line.strip()
    header = _HEADER.fullmatch(trimmed)
    if header is None:
        if trimmed not in _FRAME and _LIKE_A_HEADER.match(_shown(line)):
            raise Misread("the patch has a line that looks like a header and is none that is known")
        return None
    kind, path = header.groups()
    if not _is_plain(path) or (kind == _MOVE and line.removesuffix("\r").rstrip() != line.removesuffix("\r")):
        raise Misread("the patch has a header with blanks or hidden characters around or in the name of its file")
    return Touched(path, deleted=kind == "Delete File")


def _shown(line: str) -> str:
    """What of a line is to be seen from where something is, with compatible characters as their plain ones."""
    seen = "".join(character for character in line if unicodedata.category(character)[0] != "C")
    return unicodedata.normalize("NFKC", seen).strip()


def _is_plain(path: str) -> bool:
    return (
        bool(path)
        and path == path.strip()
        and not any(unicodedata.category(each) in {"Cc", "Zl", "Zp"} for each in path)
    )
