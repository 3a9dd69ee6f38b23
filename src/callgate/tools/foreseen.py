"""Foreseen: what a preview finds that cannot work is refused before a person is asked.

The look may be wrong by the time the call runs, so a handler looks again and says the same.
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator

from callgate.errors import InvalidArguments
from callgate.tools.replacing import ProtectedFile

_FORESEEN = (ValueError, FileNotFoundError, FileExistsError, IsADirectoryError, NotADirectoryError, ProtectedFile)


@contextlib.contextmanager
def foreseen() -> Generator[None]:
    """Around a preview's look at what its arguments name.

    Raises:
        InvalidArguments: They name what is not there, or is there already, is something else, or is protected.
    """
    try:
        yield
    except _FORESEEN as error:
        raise InvalidArguments(str(error)) from error
