"""Pouring: members out of an archive, piece by piece, into whatever takes them; more than was announced is refused."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Protocol

from callgate.tools.archives.limits import Hostile
from callgate.tools.archives.members import Member

CHUNK = 256 * 1024


class Sink:
    """Takes what is in a member and drops it; whoever wants it takes it from here."""

    def __init__(self, member: Member) -> None:
        self.member = member
        self._seen = 0

    def write(self, data: bytes) -> None:
        """Take the next piece.

        Raises:
            Hostile: It is more than the archive said.
        """
        self._seen += len(data)
        if self._seen > self.member.size:
            raise Hostile(f"member {self.member.name!r} holds more than the {self.member.size} bytes it says")
        self.take(data)

    def end(self) -> None:
        """That was all.

        Raises:
            Hostile: It is less than the archive said.
        """
        if self._seen != self.member.size:
            raise Hostile(f"member {self.member.name!r} says {self.member.size} bytes and holds {self._seen}")

    def take(self, data: bytes) -> None:
        """What to do with a piece."""


class Kept(Sink):
    """Keeps what is in a member."""

    def __init__(self, member: Member) -> None:
        super().__init__(member)
        self.data = bytearray()

    def take(self, data: bytes) -> None:
        self.data += data


Into = Callable[[Member], Sink]


class Format(Protocol):
    """An archive of one kind, open for reading."""

    members: tuple[Member, ...]

    def pour(self, wanted: Collection[Member], into: Into) -> None:
        """Give what is in these members, each to the sink that is made for it, one after the other.

        Raises:
            Hostile: The archive lies.
        """
        ...
