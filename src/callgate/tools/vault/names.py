"""Names: paths of notes as arguments have them, and the folders of users and projects, of which no two meet."""

from __future__ import annotations

import hashlib
import unicodedata

from callgate.model.context import Context

LONGEST_PATH = 256
NOTE = ".md"
EVERYTHING = "/"
"""The folder that holds all notes of a project."""

_LONGEST_PART = 255
"""Bytes, of one name in a directory."""
_LONGEST_FOLDER = 150
_PLAIN = frozenset(b"abcdefghijklmnopqrstuvwxyz0123456789-_@+.")
_NO_LETTERS = frozenset({"Cc", "Cs"})
"""Control characters, and halves of characters that no text has."""


def folder_name(name: str) -> str:
    """The folder of a user or a project.

    Small letters, digits and `-_@+.` stay, everything else is percent-encoded: also capitals, since there are file
    systems that take `Ann` for `ann`. A name that gets too long is told by its digest.
    """
    data = name.encode("utf-8", "surrogatepass")
    ends = {0, len(data) - 1}
    letters = (
        chr(byte) if byte in _PLAIN and not (byte == ord(".") and at in ends) else f"%{byte:02x}"
        for at, byte in enumerate(data)
    )
    safe = "".join(letters)
    return safe if len(safe) <= _LONGEST_FOLDER else f"~{hashlib.sha256(data).hexdigest()}"


def owner_folder(context: Context) -> str:
    """The folder of whoever the notes are for: the user, and where there is none, the agent itself.

    No user's folder has a `=` in its name, so that an agent called like a person does not get that person's notes.
    """
    return f"agent={folder_name(context.principal)}" if context.user is None else folder_name(context.user)


def note_path(text: str, *, argument: str = "path") -> str:
    """The path of a note, which starts from the project's own folder.

    Raises:
        ValueError: It is none; says what one looks like.
    """
    parts = _parts(text, argument=argument)
    if not parts[-1].endswith(NOTE):
        raise ValueError(f"{argument} {text!r} does not end in {NOTE}: every note does, such as ideas/tea.md")
    return "/".join(parts)


def folder_path(text: str | None, *, argument: str = "folder") -> str:
    """The path of a folder of notes, without a slash at its end; empty for the one that holds them all.

    Raises:
        ValueError: It is none.
    """
    if text is None or text in {"", EVERYTHING}:
        return ""
    return "/".join(_parts(text.removesuffix("/"), argument=argument))


def is_plain(name: str) -> bool:
    """Whether something of this name, which lies in a directory, can be a note or hold one."""
    if name.startswith("."):
        return False
    return name.isprintable() or not any(unicodedata.category(letter) in _NO_LETTERS for letter in name)


def key_of(name: str) -> str:
    """What notes of the same name share, however the name is written and wherever they lie."""
    last = unicodedata.normalize("NFC", name.rpartition("/")[2]).casefold()
    return last.removesuffix(NOTE)


def folder_of(path: str) -> str:
    """The folder a note lies in; empty for the topmost."""
    return path.rpartition("/")[0]


def _parts(text: str, *, argument: str) -> list[str]:
    if not text or len(text) > LONGEST_PATH:
        raise ValueError(f"{argument} must have 1 to {LONGEST_PATH} characters")
    if any(unicodedata.category(letter) in _NO_LETTERS for letter in text):
        raise ValueError(f"{argument} {text!r} has a control character in it, or half of one")
    if text.startswith(("/", "~/")):
        raise ValueError(f"{argument} {text!r} must be relative: it starts from the notes of the project")
    parts = text.split("/")
    for part in parts:
        if part.startswith(".") or not part.strip():
            raise ValueError(f"{argument} {text!r} must not climb, nor have a hidden or empty name in it ({part!r})")
        if len(part.encode()) > _LONGEST_PART:
            raise ValueError(f"{argument} has a name in it of more than {_LONGEST_PART} bytes")
    return parts
