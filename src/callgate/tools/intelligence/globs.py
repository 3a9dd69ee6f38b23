"""Globs: a pattern of git's as a regular expression that never takes long to say no.

Patterns are written by strangers, too. Of what stands between two stars the first place that fits is as good as any
later one, so it is never given back: the work is bounded by the lengths of pattern and path together, however many
stars there are. Bytes are matched, as git does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_NAMED = {
    b"alnum": rb"0-9A-Za-z",
    b"alpha": rb"A-Za-z",
    b"blank": rb" \t",
    b"cntrl": rb"\x00-\x1f\x7f",
    b"digit": rb"0-9",
    b"graph": rb"!-~",
    b"lower": rb"a-z",
    b"print": rb" -~",
    b"punct": rb"!-/:-@\[-`{-~",
    b"space": rb" \t-\r",
    b"upper": rb"A-Z",
    b"xdigit": rb"0-9A-Fa-f",
}
_SPECIAL = re.compile(rb"[*?\[\\]")
_NAME = re.compile(rb"\[:([^\]]*):\]")
_STAR, _FOLDERS, _REST = b"*", b"**/", b"**"


def is_plain(pattern: bytes) -> bool:
    """Whether a pattern means itself and nothing else."""
    return _SPECIAL.search(pattern) is None


def compiled(pattern: bytes) -> re.Pattern[bytes] | None:
    """What a whole name, or a whole path with slashes, has to match; None for what git matches with nothing."""
    try:
        pieces = list(_pieces(pattern))
    except _Broken:
        return None
    return re.compile(b"".join(_joined(pieces)), re.DOTALL)


class _Broken(Exception):
    """It has a class without an end, or nothing behind its last backslash."""


def _pieces(pattern: bytes) -> Iterator[bytes]:
    """Stars as they are, everything else as a regular expression."""
    first = _SPECIAL.search(pattern)
    at, beginning = 0, first.start() if first else len(pattern)
    while at < len(pattern):
        letter = pattern[at : at + 1]
        if letter == b"*":
            end = at + len(pattern[at:]) - len(pattern[at:].lstrip(b"*"))
            # git compares what stands before the first special letter by itself, and begins anew behind it.
            free = at == beginning or pattern[at - 1 : at] == b"/"
            piece, at = _stars(pattern[at:end], pattern[end : end + 1], free=free), end
            at += piece == _FOLDERS
        elif letter == b"[":
            piece, at = _class(pattern, at + 1)
        else:
            at += letter == b"\\"
            if at == len(pattern):
                raise _Broken
            piece, at = b"[^/]" if letter == b"?" else re.escape(pattern[at : at + 1]), at + 1
        yield piece


def _stars(stars: bytes, behind: bytes, *, free: bool) -> bytes:
    if len(stars) == 1 or not free or behind not in {b"", b"/"}:
        return _STAR
    return _FOLDERS if behind else _REST


def _class(pattern: bytes, at: int) -> tuple[bytes, int]:
    """One letter of several, and where the pattern goes on."""
    is_not = pattern[at : at + 1] in {b"!", b"^"}
    at += is_not
    start, members = at, list[bytes]()
    while at == start or pattern[at : at + 1] != b"]":
        named = _NAME.match(pattern, at)
        if named is not None:
            if named[1] not in _NAMED:
                raise _Broken
            members.append(_NAMED[named[1]])
            at = named.end()
        else:
            member, at = _members(pattern, at)
            members.append(member)
    inside = b"".join(members)
    return (b"[^/" if is_not else b"(?!/)[") + inside + b"]", at + 1


def _members(pattern: bytes, at: int) -> tuple[bytes, int]:
    """A letter, or all from one to another, in a class."""
    first, at = _letter(pattern, at)
    if pattern[at : at + 1] != b"-" or pattern[at + 1 : at + 2] in {b"", b"]"}:
        return b"\\x%02x" % first, at
    last, at = _letter(pattern, at + 1)
    return b"\\x%02x-\\x%02x" % (first, max(first, last)), at  # the first one counts also where none lies between


def _letter(pattern: bytes, at: int) -> tuple[int, int]:
    at += pattern[at : at + 1] == b"\\"
    if at >= len(pattern):
        raise _Broken
    return pattern[at], at + 1


def _joined(pieces: list[bytes]) -> Iterator[bytes]:
    """The expression: behind every star but the last of its kind, the first place that fits is kept."""
    parts = _split(pieces, _FOLDERS)
    for number, part in enumerate(parts):
        inner = b"".join(_within(part))
        if number == 0:
            yield inner
        elif number < len(parts) - 1:
            yield b"(?>(?:.*?/)??" + inner + b")"
        else:
            yield b"(?:.*/)?" + inner


def _within(part: list[bytes]) -> Iterator[bytes]:
    """Directories that follow each other; stars do not reach beyond theirs."""
    for number, segment in enumerate(_split(part, b"/")):
        if number:
            yield b"/"
        runs = _split(segment, _STAR)
        for at, run in enumerate(runs):
            fixed = b"".join(b".*" if piece == _REST else piece for piece in run)
            if at == 0:
                yield fixed
            elif at < len(runs) - 1:
                yield b"(?>[^/]*?" + fixed + b")"
            else:
                yield b"[^/]*" + fixed


def _split(pieces: list[bytes], by: bytes) -> list[list[bytes]]:
    parts: list[list[bytes]] = [[]]
    for piece in pieces:
        if piece == by:
            parts.append([])
        else:
            parts[-1].append(piece)
    return parts
