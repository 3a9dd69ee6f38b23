"""Package: reads a zip, tar or folder that anyone may have made. Nothing is unpacked, and only known names are read."""

from __future__ import annotations

import os
import stat
import tarfile
import zipfile
from collections.abc import Iterator
from contextlib import AbstractContextManager
from hashlib import sha256
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import orjson

from callgate.events.evidence.contents import KNOWN
from callgate.model.canonical import NotCanonical, dumps, loads

LINE_AT_MOST = 16 * 1024 * 1024
WHOLE_AT_MOST = 64 * 1024 * 1024
_RATIO_AT_MOST = 200
_SMALL = 1024 * 1024
_CHUNK = 1024 * 1024


class BadPackage(Exception):
    """The package is not one to read on; the message says why."""


class Package(Protocol):
    """Files by name."""

    sizes: dict[str, int]
    """What is in it, and how large each says it is."""

    def open(self, name: str) -> AbstractContextManager[BinaryIO]:
        """The bytes of a file that is in it."""
        ...

    def close(self) -> None:
        """Let go."""
        ...


def open_package(path: Path, *, most_bytes: int) -> Package:
    """Look at what is there, and refuse what no honest package is.

    Raises:
        BadPackage: With the reason.
    """
    try:
        package = _open(path)
    except BadPackage:
        raise
    except Exception as error:  # the archive libraries fail in many ways on what was made to make them fail
        raise BadPackage(f"{path} cannot be read: {_words(error)}") from error
    if sum(package.sizes.values()) > most_bytes:
        package.close()
        raise BadPackage(f"it claims to hold more than {most_bytes} bytes")
    return package


def digest_of(package: Package, name: str) -> tuple[str, int]:
    """SHA-256 and length of a file.

    Raises:
        BadPackage: It cannot be read, or is longer than it says.
    """
    digest, count = sha256(), 0
    for chunk in _chunks(package, name):
        digest.update(chunk)
        count += len(chunk)
    return digest.hexdigest(), count


def whole(package: Package, name: str) -> bytes:
    """A small file.

    Raises:
        BadPackage: It cannot be read, or is not small.
    """
    if package.sizes.get(name, 0) > WHOLE_AT_MOST:
        raise BadPackage(f"{name} is too large")
    return b"".join(_chunks(package, name))


def bodies(package: Package, name: str) -> Iterator[dict[str, Any]]:
    """The objects of a file with one per line.

    Raises:
        BadPackage: A line is too long, or not the canonical JSON of an object.
    """
    number = 0
    rest = b""
    for chunk in _chunks(package, name):
        *lines, rest = (rest + chunk).split(b"\n")
        if len(rest) > LINE_AT_MOST:
            raise BadPackage(f"line {number + len(lines) + 1} of {name} is too long")
        for line in lines:
            number += 1
            yield parse(line, f"line {number} of {name}")
    if rest:
        raise BadPackage(f"the last line of {name} is cut off")


def parse(text: bytes, what: str) -> dict[str, Any]:
    """An object from its canonical JSON, which has one reading only.

    Raises:
        BadPackage: It is something else.
    """
    body: Any = None
    try:
        body = _read(text)
        canonical = dumps(body) == text
    except NotCanonical:
        canonical = False
    if not canonical or not isinstance(body, dict):
        raise BadPackage(f"{what} is not the canonical JSON of an object")
    return body  # pyright: ignore[reportUnknownVariableType]


def _read(text: bytes) -> Any:
    try:
        body = orjson.loads(text)
    except orjson.JSONDecodeError:
        # Integers beyond a double are not orjson's to read, and those beyond 64 bits only become floats.
        return loads(text)
    return body if dumps(body) == text else loads(text)


def _chunks(package: Package, name: str) -> Iterator[bytes]:
    if name not in package.sizes:
        raise BadPackage(f"{name} is missing")
    left = package.sizes[name]
    try:
        with package.open(name) as file:
            while chunk := file.read(min(_CHUNK, left + 1)):
                left -= len(chunk)
                _refuse_longer(name, left)
                yield chunk
    except BadPackage:
        raise
    except Exception as error:  # as in `open_package`
        raise BadPackage(f"{name} cannot be read: {_words(error)}") from error


def _refuse_longer(name: str, left: int) -> None:
    if left < 0:
        raise BadPackage(f"{name} is longer than it says")


def _open(path: Path) -> Package:
    if path.is_dir():
        return _Folder(path)
    if zipfile.is_zipfile(path):
        return _Zip(path)
    return _Tar(path)


def _admit(sizes: dict[str, int], name: str, *, size: int, plain: bool) -> None:
    """Take one entry, or refuse the package for it."""
    if name not in KNOWN:
        raise BadPackage(f"it has something that does not belong in it: {name[:200]!r}")
    if name in sizes:
        raise BadPackage(f"it has {name} twice")
    if not plain:
        raise BadPackage(f"{name} is not a plain file")
    sizes[name] = size


def _refuse_bomb(info: zipfile.ZipInfo) -> None:
    if info.file_size > max(_SMALL, info.compress_size * _RATIO_AT_MOST):
        raise BadPackage(f"{info.filename[:200]!r} is packed more tightly than evidence can be")


class _Folder:
    def __init__(self, path: Path) -> None:
        self._path = path
        self.sizes: dict[str, int] = {}
        with os.scandir(path) as entries:
            for entry in entries:
                info = entry.stat(follow_symlinks=False)
                _admit(self.sizes, entry.name, size=info.st_size, plain=stat.S_ISREG(info.st_mode))

    def open(self, name: str) -> AbstractContextManager[BinaryIO]:
        flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
        return os.fdopen(os.open(self._path / name, flags), "rb")

    def close(self) -> None:
        pass


class _Zip:
    def __init__(self, path: Path) -> None:
        self._archive = zipfile.ZipFile(path)
        self.sizes: dict[str, int] = {}
        try:
            for info in self._archive.infolist():
                _refuse_bomb(info)
                encrypted = info.flag_bits & 0x1
                _admit(self.sizes, info.filename, size=info.file_size, plain=not encrypted)
        except BaseException:
            self.close()
            raise

    def open(self, name: str) -> AbstractContextManager[BinaryIO]:
        return self._archive.open(name)  # pyright: ignore[reportReturnType] - it reads bytes, which is all we ask

    def close(self) -> None:
        self._archive.close()


class _Tar:
    def __init__(self, path: Path) -> None:
        self._archive = tarfile.open(path, "r:")  # noqa: SIM115 - closed by `close`
        self.sizes: dict[str, int] = {}
        self._members: dict[str, tarfile.TarInfo] = {}
        try:
            for member in self._archive:
                plain = member.isreg() and not member.issparse()
                _admit(self.sizes, member.name, size=member.size, plain=plain)
                self._members[member.name] = member
        except BaseException:
            self.close()
            raise

    def open(self, name: str) -> AbstractContextManager[BinaryIO]:
        file = self._archive.extractfile(self._members[name])
        if file is None:
            raise BadPackage(f"{name} is not a plain file")
        return file  # pyright: ignore[reportReturnType] - it reads bytes, which is all we ask

    def close(self) -> None:
        self._archive.close()


def _words(error: BaseException) -> str:
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
