"""Members: what an archive says it holds, with names that are safe wherever they are unpacked."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

from callgate.tools.archives.limits import LONGEST_NAME, Hostile

_LONGEST_PART = 255
_DRIVE = re.compile(r"^[A-Za-z]:")
ENDINGS = (".zip", ".tar", ".tgz", ".tbz2", ".txz", ".tar.gz", ".tar.bz2", ".tar.xz", ".7z")


@dataclass(frozen=True, slots=True)
class Member:
    """One file or directory of an archive."""

    raw: str
    """Its name as the archive has it."""
    name: str
    """Its path from where the archive is unpacked: plain parts with slashes between."""
    size: int
    """As the archive says, in bytes."""
    is_directory: bool = False

    @property
    def is_archive(self) -> bool:
        """Whether it looks like an archive itself."""
        return not self.is_directory and self.name.lower().endswith(ENDINGS)


def member(raw: str, size: int, *, is_directory: bool) -> Member:
    """A member with a safe name.

    Raises:
        Hostile: The name leads out of the archive, or cannot be a file's.
    """
    return Member(raw, _safe(raw), size, is_directory)


def _safe(raw: str) -> str:
    shown = raw[:200].encode("unicode_escape").decode()
    if not raw or len(raw) > LONGEST_NAME:
        raise Hostile(f"member {shown!r} has no name, or one that is too long")
    if raw.startswith("/") or _DRIVE.match(raw):
        raise Hostile(f"member {shown!r} has an absolute path")
    if "\\" in raw or any(unicodedata.category(letter) in {"Cc", "Cs"} for letter in raw):
        raise Hostile(f"member {shown!r} has a backslash or control characters in its name")
    parts = [part for part in raw.split("/") if part not in {"", "."}]
    for part in parts:
        _refuse_part(part, shown)
    return "/".join(parts)


def _refuse_part(part: str, shown: str) -> None:
    if part == "..":
        raise Hostile(f"member {shown!r} climbs out of the archive")
    if len(part.encode()) > _LONGEST_PART:
        raise Hostile(f"member {shown!r} has a name that is too long")


def refuse_collisions(members: Iterable[Member]) -> None:
    """Refuse names that some file system takes for the same, and files that others are to lie in.

    Raises:
        Hostile: With the name.
    """
    seen: dict[str, Member] = {}
    for each in members:
        before = seen.setdefault(_key(each.name), each)
        if before is not each and not (before.is_directory and each.is_directory and before.name == each.name):
            raise Hostile(f"member {each.name!r} is there twice, or differs from another in case only")
    for each in seen.values():
        parts = each.name.split("/")
        for depth in range(1, len(parts)):
            above = seen.get(_key("/".join(parts[:depth])))
            if above is not None and (not above.is_directory or above.name != "/".join(parts[:depth])):
                raise Hostile(f"member {each.name!r} lies in {above.name!r}, which is no directory of that name")


def _key(name: str) -> str:
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
