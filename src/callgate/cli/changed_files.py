"""Changing other programs' files: shown first, kept as they were, written whole or not at all, and put back exactly."""

from __future__ import annotations

import base64
import difflib
import hashlib
import json
import os
import stat
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from typing import Any

from callgate.errors import ConfigurationError
from callgate.runtime.assemble import secrets_file
from callgate.runtime.host_files import read_raw

HIDDEN = "<hidden>"
_SHORTEST = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What a file is to become."""

    path: Path
    before: bytes | None
    """What is there now; None if nothing is."""
    after: bytes
    hide: tuple[str, ...] = ()
    """Values that are not shown."""
    is_connected: bool = False
    """Whether something of Callgate's is in what is there now."""

    @property
    def is_none(self) -> bool:
        """Whether nothing would change."""
        return self.before == self.after

    def difference(self) -> str:
        """Line by line, with what is nobody's to see hidden."""
        old, new = ((text or b"").decode(errors="replace").splitlines() for text in (self.before, self.after))
        name = str(self.path)
        lines = difflib.unified_diff(old, new, "/dev/null" if self.before is None else name, name, lineterm="")
        shown = "\n".join(lines)
        for value in sorted(self.hide, key=len, reverse=True):
            if len(value) >= _SHORTEST:
                shown = shown.replace(json.dumps(value)[1:-1], HIDDEN).replace(value, HIDDEN)
        return shown


def write(change: Change) -> None:
    """Make the change, and keep what was there.

    Raises:
        ConfigurationError: The file is another by now, or cannot be written; then nothing is changed.
    """
    if read_raw(change.path) != change.before:
        raise ConfigurationError("changed while you looked; nothing was written, look again", file=str(change.path))
    kept, first = _record(change.path), change.before
    earlier = _read_record(kept)
    untouched = earlier is not None and change.before is not None and earlier["after"] == _digest(change.before)
    between = None if earlier is None else earlier.get("between")
    if earlier is not None and (untouched or change.is_connected):
        # Connected before: going back means all the way, and what somebody wrote since is kept beside.
        first = _original(earlier)
        between = between if untouched else _encoded(change.before)
    else:
        between = None
    body = {"path": str(change.path), "before": _encoded(first), "after": _digest(change.after), "between": between}
    kept.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    replace_file(kept, json.dumps(body).encode(), mode=0o600)
    replace_file(change.path, change.after)


def undo(path: Path) -> Path | None:
    """Put a file back as it was before it was first changed here, if it was.

    Returns:
        Where the file is kept as somebody changed it between two connections, if anybody did.

    Raises:
        ConfigurationError: Somebody changed it since; it is left alone.
    """
    kept = _record(path)
    record = _read_record(kept)
    if record is None:
        return None
    now = read_raw(path)
    if now is None or _digest(now) != record["after"]:
        raise ConfigurationError(
            f"changed since it was connected, and is left alone; what it was before is in {kept}", file=str(path)
        )
    before = _original(record)
    if before is None:
        path.unlink()
        with suppress(OSError):  # not empty, or not ours
            path.parent.rmdir()
    else:
        replace_file(path, before)
    kept.unlink()
    if record.get("between") is None:
        return None
    beside = kept.with_suffix(".between")
    replace_file(beside, base64.b64decode(record["between"]), mode=0o600)
    return beside


def is_changed(path: Path) -> bool:
    """Whether there is something to undo."""
    return _read_record(_record(path)) is not None


def backup_of(path: Path) -> Path:
    """Where what was there is kept."""
    return _record(path)


def replace_file(path: Path, data: bytes, *, mode: int | None = None) -> None:
    """Write it beside, then put it in its place: a reader sees the old file or the new one.

    Raises:
        ConfigurationError: It cannot be written.
    """
    # A link stays one: what it leads to is written.
    target = Path(os.path.realpath(path))
    beside = target.parent / f".{target.name}.{token_hex(4)}"
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        wanted = _mode(target) if mode is None else mode
        with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, wanted), "wb") as out:
            out.write(data)
            out.flush()
            os.fsync(out.fileno())
        beside.chmod(wanted)
        beside.replace(target)
    except OSError as error:
        with suppress(OSError):
            beside.unlink()
        raise ConfigurationError(
            f"cannot be written: {os.strerror(error.errno or 0).lower()}", file=str(path)
        ) from None


def _mode(target: Path) -> int:
    try:
        return stat.S_IMODE(target.stat().st_mode)
    except OSError:
        return 0o644


def _record(path: Path) -> Path:
    """By the file's real place: two names of it are one file."""
    name = hashlib.sha256(os.path.realpath(path).encode(errors="surrogateescape")).hexdigest()[:32]
    return secrets_file().parent / "connections" / f"{name}.json"


def _read_record(kept: Path) -> dict[str, Any] | None:
    raw = read_raw(kept)
    if raw is None:
        return None
    try:
        body: dict[str, Any] = json.loads(raw)
        _original(body)
        return body if isinstance(body["after"], str) else None
    except (ValueError, KeyError, TypeError):
        raise ConfigurationError("is damaged: what a file was before is not known", file=str(kept)) from None


def _original(record: dict[str, Any]) -> bytes | None:
    before = record["before"]
    return None if before is None else base64.b64decode(before, validate=True)


def _encoded(data: bytes | None) -> str | None:
    return None if data is None else base64.b64encode(data).decode()


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def as_text(document: dict[str, Any], like: bytes | None) -> bytes:
    """A JSON document, indented as the file was."""
    text = (like or b"").decode("utf-8-sig", errors="replace")
    inner: Sequence[str] = [line for line in text.splitlines() if line[:1] in {" ", "\t"} and line.strip()]
    space = inner[0][: len(inner[0]) - len(inner[0].lstrip())] if inner else "  "
    written = json.dumps(document, indent=space, ensure_ascii=False)
    return (written + "\n").encode()
