"""Snapshot: a plugin's manifest and all its code as they were at one moment. What is judged is what later runs.

Nothing of it is understood here, and nothing is run.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from callgate.adapters.plugins.reading import Stamp, open_directory, read_file, stamp_of
from callgate.errors import ConfigurationError
from callgate.model.visible import brief

MANIFEST = "manifest.json"
LARGEST_MANIFEST = 256 * 1024
_LARGEST_FILE = 1024 * 1024
_LARGEST = 8 * 1024 * 1024
_MOST_FILES = 500
_MOST_ENTRIES = 20_000
_TRIES = 3
_SUFFIX = ".py"


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """A plugin's folder at one moment."""

    path: Path
    manifest: bytes
    code: Mapping[str, bytes]
    """Every Python file, by its path in the folder, with slashes."""
    code_digest: str
    digest: str
    """Of manifest and code: another digest is another plugin."""


def take_snapshot(path: Path) -> Snapshot:
    """Read a plugin's folder whole, by handles, so that no link leads out of it.

    Raises:
        FileNotFoundError: It has no manifest, or is not there.
        ConfigurationError: Something in it is a link, too large, or is being written right now.
        OSError: It cannot be read.
    """
    with open_directory(path) as top:
        for _ in range(_TRIES):
            files, stamps = _read_all(top)
            if stamps == _look(top):
                return _made(path, files)
    raise ConfigurationError("is being written right now; it is read again when it has settled")


def _made(path: Path, files: dict[str, bytes]) -> Snapshot:
    manifest = files.pop(MANIFEST)
    code = dict(sorted(files.items()))
    code_digest = _digest(code.items())
    digest = _digest([(MANIFEST, manifest), ("code", code_digest.encode())])
    return Snapshot(path=path, manifest=manifest, code=code, code_digest=code_digest, digest=digest)


def _digest(parts: Iterable[tuple[str, bytes]]) -> str:
    hasher = hashlib.sha256()
    for name, content in parts:
        hasher.update(f"{len(name)}:{name}:{len(content)}:".encode("utf-8", "surrogateescape"))
        hasher.update(content)
    return hasher.hexdigest()


def _read_all(top: int) -> tuple[dict[str, bytes], dict[str, Stamp]]:
    content, stamp = read_file(MANIFEST, folder=top, at_most=LARGEST_MANIFEST)
    files, stamps = {MANIFEST: content}, {MANIFEST: stamp}
    total = 0
    for place, name, folder in _python_files(top):
        files[place], stamps[place] = read_file(name, folder=folder, at_most=_LARGEST_FILE)
        total += len(files[place])
        if len(files) > _MOST_FILES or total > _LARGEST:
            raise ConfigurationError(f"has more code than {_MOST_FILES} files or {_LARGEST} bytes")
    return files, stamps


def _look(top: int) -> dict[str, Stamp]:
    """The stamps of the same files now."""
    stamps = {MANIFEST: stamp_of(os.stat(MANIFEST, dir_fd=top, follow_symlinks=False))}
    for place, name, folder in _python_files(top):
        stamps[place] = stamp_of(os.stat(name, dir_fd=folder, follow_symlinks=False))
    return stamps


def _python_files(top: int) -> Iterator[tuple[str, str, int]]:
    """Every Python file: its path with slashes, its name, and a handle of the folder it lies in."""
    seen = 0
    for root, folders, files, handle in os.fwalk(".", follow_symlinks=False, dir_fd=top):
        seen += len(folders) + len(files)
        if seen > _MOST_ENTRIES:
            raise ConfigurationError(f"has more than {_MOST_ENTRIES} files and folders")
        folders[:] = sorted(name for name in folders if not name.startswith((".", "__pycache__")))
        for name in folders:
            # Left out without a word, its code would be missed later.
            if _is_link(name, handle):
                raise ConfigurationError("is a link; put the folder itself there", file=brief(f"{root}/{name}"))
        for name in sorted(files):
            if name.endswith(_SUFFIX):
                yield os.path.normpath(f"{root}/{name}").replace(os.sep, "/"), name, handle


def _is_link(name: str, handle: int) -> bool:
    try:
        os.readlink(name, dir_fd=handle)
    except OSError:
        return False
    return True
