"""Examining: what an archive holds, after everything that can be wrong with it was looked for.

Nothing is written here. What a name, a size or a table can lie about is refused before anybody unpacks anything; so
is an archive that hides further ones deeper than two levels, or more in all of them than is taken. Whatever else is
wrong with one in it harms nobody as long as it is a file: it is examined like any other when somebody opens it. So is
one that is too large for the memory, which is not looked into, nor what lies in it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from callgate.tools.archives.copied import Nested, Source
from callgate.tools.archives.limits import (
    DEEPEST,
    LARGEST_ARCHIVE,
    LARGEST_MEMBER,
    LARGEST_TOTAL,
    MIB,
    MOST_FILES,
    Hostile,
    LibraryMissing,
    TooMuch,
    refuse_ratio,
)
from callgate.tools.archives.members import Member, refuse_collisions
from callgate.tools.archives.pouring import Format, Into, Kept, Sink
from callgate.tools.archives.sevenzip_format import SevenZipArchive
from callgate.tools.archives.tar_format import TarArchive
from callgate.tools.archives.zip_format import ZipArchive

_LOOKED_INTO = 32 * MIB
"""An archive in an archive up to this size is looked into; a larger one when somebody opens it."""

_KINDS: tuple[tuple[int, bytes, str, Callable[[Source, int], Format]], ...] = (
    (0, b"PK\3\4", "zip", ZipArchive),
    (0, b"PK\5\6", "zip", ZipArchive),
    (0, b"7z\xbc\xaf\x27\x1c", "7z", SevenZipArchive),
    (0, b"\x1f\x8b", "tar.gz", lambda file, size: TarArchive(file, size, packing="gzip")),
    (0, b"BZh", "tar.bz2", lambda file, size: TarArchive(file, size, packing="bzip2")),
    (0, b"\xfd7zXZ\0", "tar.xz", lambda file, size: TarArchive(file, size, packing="xz")),
    (257, b"ustar", "tar", lambda file, size: TarArchive(file, size, packing="")),
)
_HEAD = 512


@dataclass(slots=True)
class Tally:
    """What was counted so far, in an archive and all that lie in it."""

    files: int = 0
    size: int = 0

    def add(self, members: tuple[Member, ...]) -> None:
        """Count them.

        Raises:
            TooMuch: It is more than is taken.
        """
        self.files += sum(not each.is_directory for each in members)
        self.size += sum(each.size for each in members)
        if self.files > MOST_FILES:
            raise TooMuch(f"there are more than {MOST_FILES} files, with those of archives in it")
        if self.size > LARGEST_TOTAL:
            raise TooMuch(f"there are more than {LARGEST_TOTAL} bytes, with those of archives in it")


@dataclass(frozen=True, slots=True)
class Archive:
    """An archive that was examined and may be unpacked."""

    kind: str
    members: tuple[Member, ...]
    format: Format
    size: int
    """Of the archive itself, in bytes."""
    nested: tuple[str, ...] = field(default=())

    @property
    def files(self) -> tuple[Member, ...]:
        """Its members that are no directories."""
        return tuple(each for each in self.members if not each.is_directory)


def examine(file: Source, size: int) -> Archive:
    """Look for everything that can be wrong.

    Raises:
        Hostile: Something is.
    """
    return _examine(file, size, depth=0, tally=Tally())


def not_there(archive: Archive, name: str) -> str:
    """What is said of a name that no file in the archive has, as the end of a sentence."""
    last = name.rpartition("/")[2]
    meant = [each.name for each in archive.files if each.name.rpartition("/")[2] == last]
    near = f"did you mean {meant[0]!r}?" if len(meant) == 1 else "archive_open lists its files"
    return f"is not in the archive; {near}"


def _examine(file: Source, size: int, *, depth: int, tally: Tally) -> Archive:
    if size > LARGEST_ARCHIVE:
        raise TooMuch(f"the archive is larger than {LARGEST_ARCHIVE} bytes")
    kind, make = _kind_of(file)
    if depth > DEEPEST:
        raise TooMuch(f"archives lie in archives more than {DEEPEST} deep")
    opened = make(file, size)
    members = tuple(each for each in opened.members if each.name)
    _refuse_nameless(opened.members)
    refuse_collisions(members)
    tally.add(members)
    for each in members:
        if each.size > LARGEST_MEMBER:
            raise TooMuch(f"member {each.name!r} is larger than {LARGEST_MEMBER} bytes")
    refuse_ratio(sum(each.size for each in members), size, what="the archive")
    nested = tuple(each for each in members if each.is_archive)
    _look_into(opened, nested, watch=file.watch, depth=depth, tally=tally)
    return Archive(kind, members, opened, size, tuple(each.name for each in nested))


def _kind_of(file: Source) -> tuple[str, Callable[[Source, int], Format]]:
    file.seek(0)
    head = file.read(_HEAD)
    for at, mark, kind, make in _KINDS:
        if head[at:].startswith(mark):
            return kind, make
    raise Hostile("this is no zip, tar or 7z archive")


def _refuse_nameless(members: tuple[Member, ...]) -> None:
    # A tar of a whole directory names that directory itself, which is where everything goes.
    if any(not each.name and not each.is_directory for each in members):
        raise Hostile("a member has no name")


def _look_into(
    opened: Format, nested: tuple[Member, ...], *, watch: Callable[[], None], depth: int, tally: Tally
) -> None:
    small = tuple(each for each in nested if each.size <= _LOOKED_INTO)

    class Inner(Kept):
        """An archive in this one, examined when all of it is there."""

        def end(self) -> None:
            super().end()
            inner = Nested(self.data, watch)
            self.data = bytearray()
            try:
                _examine(inner, self.member.size, depth=depth + 1, tally=tally)
            except TooMuch as error:
                raise TooMuch(f"{self.member.name}: {error}") from error
            except (Hostile, LibraryMissing):
                return  # refused as soon as it is opened itself, or only called an archive

    if small:
        opened.pour(small, Inner)


def prove(archive: Archive, wanted: tuple[Member, ...], *, into: Into = Sink) -> None:
    """Unpack these members once without keeping them, to see that they hold what they say.

    Args:
        archive: What was examined.
        wanted: Those of its members.
        into: What looks at what is in them meanwhile.

    Raises:
        Hostile: One does not.
    """
    archive.format.pour(tuple(each for each in wanted if not each.is_directory), into)
