"""Arguments that several tools on files take, and the digest of a file too large to be read as a whole."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from typing import Annotated

from pydantic import Field

FilePath = Annotated[str, Field(json_schema_extra={"format": "file-path"})]
DirectoryPath = Annotated[str, Field(json_schema_extra={"format": "directory-path"})]
Text = Annotated[str, Field(json_schema_extra={"format": "text"})]
"""Something to be read; it may look like a path and is none."""


_PIECE = 1024 * 1024


def digest_of_open(fd: int, most: int, *, check: Callable[[], None]) -> str | None:
    """The digest of an open file; None if it has more than so many bytes. Between its pieces `check` may end it."""
    digest, at = hashlib.sha256(), 0
    while piece := os.pread(fd, _PIECE, at):
        check()
        at += len(piece)
        if at > most:
            return None
        digest.update(piece)
    return digest.hexdigest()
