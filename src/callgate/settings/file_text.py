"""File text: the characters of a configuration file, checked before anything is made of them. Knows no YAML."""

from __future__ import annotations

import errno
import itertools
import os
import re
import stat
from pathlib import Path

from callgate.errors import ConfigurationError
from callgate.model.visible import code_of, hidden_places
from callgate.settings.complaints import Complaints

LARGEST = 1024 * 1024
"""A configuration file has at most this many bytes."""

BOM = "\ufeff"
_MOST_TOLD = 20
_TOO_LARGE = "is larger than 1 MiB, which no configuration is"
_TAB_INDENT = re.compile(r"^ *\t", re.MULTILINE)


def read_text(path: str, *, required: bool) -> str | None:
    """The text of a file; None if it is not there and need not be.

    Raises:
        ConfigurationError: It is required and missing, a broken link, no file, unreadable, too large, or not UTF-8.
    """
    data = _read_bytes(path, required=required)
    if data is None:
        return None
    if len(data) > LARGEST:
        raise ConfigurationError(_TOO_LARGE, file=path)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigurationError("is not UTF-8 here; save the file as UTF-8", file=path, line=line) from None


def check_text(text: str, complaints: Complaints) -> None:
    """Complain of what must not be in the text: a byte order mark, hidden characters, tabs as indentation, too much."""
    if text.startswith(BOM):
        complaints.add("starts with a byte order mark (BOM); save the file as UTF-8 without one", line=1)
        text = text[1:]
    if len(text) > LARGEST or len(text.encode("utf-8", "surrogatepass")) > LARGEST:
        complaints.add(_TOO_LARGE, line=None)
        return
    for place in itertools.islice(hidden_places(text), _MOST_TOLD):
        complaints.add(f"has the hidden character {code_of(text[place])}; remove it", line=_line(text, place))
    for match in itertools.islice(_TAB_INDENT.finditer(text), _MOST_TOLD):
        complaints.add("is indented with a tab; indent with spaces", line=_line(text, match.start()))


def _line(text: str, place: int) -> int:
    return text.count("\n", 0, place) + 1


def _read_bytes(path: str, *, required: bool) -> bytes | None:
    try:
        # Without O_NONBLOCK a named pipe would wait for ever for a writer.
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    except FileNotFoundError:
        return _missing(path, required=required)
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"cannot be read: {_reason(error)}", file=path) from None
    mode = os.fstat(handle).st_mode
    # fdopen() takes no directory.
    if not stat.S_ISREG(mode):
        os.close(handle)
        what = "a directory" if stat.S_ISDIR(mode) else "no ordinary file"
        raise ConfigurationError(f"is {what}; name a YAML file", file=path)
    with os.fdopen(handle, "rb") as file:
        return file.read(LARGEST + 1)


def _missing(path: str, *, required: bool) -> None:
    # A broken link is somebody's policy that went away: going on without it would widen what is allowed.
    if Path(path).is_symlink():
        raise ConfigurationError("is a link to a file that does not exist", file=path)
    if required:
        raise ConfigurationError("does not exist; name an existing file, or leave the file out", file=path)


def _reason(error: OSError | ValueError) -> str:
    if isinstance(error, OSError) and error.errno is not None:
        return os.strerror(error.errno).lower()
    return os.strerror(errno.EINVAL).lower()
