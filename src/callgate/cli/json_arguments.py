"""Reading JSON that was typed: on the command line, from a file with @, from stdin with -. Strict, with clear words."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, cast

from callgate.cli.trouble import wrong
from callgate.model.canonical import loads

_MOST_BYTES = 16 * 1024 * 1024
_EXAMPLE = """write one JSON object in single quotes, such as '{"text": "hello"}', or @FILE, or - for stdin"""


def read_object(text: str, *, what: str) -> dict[str, Any]:
    """The JSON object that was given.

    Args:
        text: JSON, `@FILE`, or `-`.
        what: What it is called in complaints.

    Raises:
        ConfigurationError: It cannot be read, or is no JSON object with one reading.
    """
    value = read_value(text, what=what)
    if not isinstance(value, dict):
        wrong(f"{what}: this is {_kind(value)}, not an object; {_EXAMPLE}")
    return cast("dict[str, Any]", value)


def read_value(text: str, *, what: str) -> Any:
    """The JSON value that was given; as `read_object`.

    Raises:
        ConfigurationError: It cannot be read, or is no JSON with one reading.
    """
    source, content = _content(text, what=what)
    try:
        return loads(content)
    except ValueError as error:  # a number with too many digits is one too
        wrong(f"{source}: {error}; {_EXAMPLE}")


def read_bytes(path: Path, *, what: str) -> bytes:
    """A file that was named.

    Raises:
        ConfigurationError: It cannot be read, or is too large.
    """
    try:
        with path.open("rb") as file:
            content = file.read(_MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        wrong(f"{what}: {path} cannot be read: {getattr(error, 'strerror', None) or error}")
    return _bounded(content, what=f"{what}: {path}")


def _content(text: str, *, what: str) -> tuple[str, str | bytes]:
    if text == "-":
        return f"{what} from stdin", _bounded(sys.stdin.buffer.read(_MOST_BYTES + 1), what=f"{what} from stdin")
    if text.startswith("@"):
        return f"{what} from {text[1:]}", read_bytes(Path(text[1:]), what=what)
    return what, text


def _bounded(content: bytes, *, what: str) -> bytes:
    if len(content) > _MOST_BYTES:
        wrong(f"{what}: more than {_MOST_BYTES // 1024 // 1024} MiB is too much")
    return content


def _kind(value: Any) -> str:
    kinds = {"list": "a list", "str": "a text", "bool": "true or false", "NoneType": "null"}
    return kinds.get(type(value).__name__, "a number")
