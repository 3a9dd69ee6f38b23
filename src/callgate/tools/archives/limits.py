"""Limits: how much an archive may hold and a call on it may take, and the error that says what is wrong with one."""

from __future__ import annotations

import contextlib
from collections.abc import Generator

from callgate.errors import ConfigurationError

SECONDS = 120
"""For one call."""
MIB = 1024 * 1024
LARGEST_ARCHIVE = 500 * MIB
LARGEST_TOTAL = 1024 * MIB
LARGEST_MEMBER = 100 * MIB
MOST_FILES = 1000
MOST_ENTRIES = 5000
"""Directories included."""
MOST_RATIO = 100
_SMALL = MIB
LONGEST_NAME = 1024
"""Characters of a member's whole name."""
DEEPEST = 2
"""An archive in an archive in an archive is the last that may be there."""


class Hostile(ValueError):
    """The archive is not what it says, or more than is taken; nothing was written."""


class TooMuch(Hostile):
    """It is a bomb, or holds more than is taken, which counts also where it lies in another archive."""


class LibraryMissing(ConfigurationError, ValueError):
    """What unpacks such archives is not installed; the message is meant for whoever called."""


@contextlib.contextmanager
def parsing(what: str) -> Generator[None]:
    """Whatever goes wrong in a parser is a fault of the archive; what the system says, and ours, goes through.

    Raises:
        Hostile: The archive cannot be read.
    """
    try:
        yield
    except (Hostile, TimeoutError, PermissionError, LibraryMissing):
        raise
    except Exception as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise Hostile(f"{what} is broken or no such archive ({type(error).__name__})") from error


def refuse_member_ratio(size: int, packed: int, *, name: str) -> None:
    """Refuse a member that is a bomb by itself; a small file of blanks is none.

    Raises:
        TooMuch: It is.
    """
    if size > _SMALL:
        refuse_ratio(size, packed, what=f"member {name!r}")


def refuse_ratio(size: int, packed: int, *, what: str) -> None:
    """Refuse what grows more than a hundred times when it is unpacked.

    Raises:
        TooMuch: It does.
    """
    if size > MOST_RATIO * max(packed, 1):
        raise TooMuch(f"{what} grows from {packed} to {size} bytes, more than {MOST_RATIO} times: a bomb")
