"""The process that reads one 7z archive, by py7zr, within bounds on its memory and its time.

A header of a few hundred bytes may describe millions of files, and some methods unpack without any bound: what that
takes is taken here, where it can be stopped. It is told what to do on its input, and answers in records on its output:
a letter, a length, and so many bytes.
"""

from __future__ import annotations

import json
import os
import resource
import stat
import struct
import sys
from typing import Any, BinaryIO

from callgate.tools.answers import only_answers
from callgate.tools.archives.limits import LONGEST_NAME
from callgate.tools.process_limits import lower

RECORD = struct.Struct("<cL")
LISTED, STARTED, DATA, ENDED, DONE, REFUSED = b"L", b"S", b"D", b"E", b".", b"R"
LARGEST_RECORD = 32 * 1024 * 1024
_TOP = "/"
"""Names are made from here on, so that no link of the working directory is taken for part of one."""
_MOST_MEMORY = 768 * 1024 * 1024
_PIECE = 1024 * 1024
_BOUNDED = frozenset(
    bytes.fromhex(method)
    for method in (
        *("00", "21", "030101", "040202"),  # copied, LZMA2, LZMA, bzip2
        *("03", "04", "05", "06", "07", "08", "09"),  # filters
        *("03030103", "03030205", "03030401", "03030501", "03030701", "03030805"),  # filters, as they were named before
    )
)
"""Methods that give no more at once than they are asked for."""


class _Refused(Exception):
    """The archive is not taken; says why."""


def main() -> None:  # pragma: no cover - in the child, where nobody measures
    """Read the question, and answer it."""
    question = json.load(sys.stdin)
    out = only_answers()
    import py7zr  # noqa: PLC0415 - before the memory is bounded

    seconds: int = question["seconds"]
    lower({resource.RLIMIT_AS: _MOST_MEMORY, resource.RLIMIT_CPU: seconds, resource.RLIMIT_CORE: 0})
    try:
        with os.fdopen(question["file"], "rb") as file:
            file.seek(0)
            archive = py7zr.SevenZipFile(file, max_extract_size=question["room"])
            if question["wanted"] is None:
                _tell(out, LISTED, data=json.dumps(_listed(archive, question["most"])).encode())
            else:
                archive.extract(path=_TOP, targets=question["wanted"], factory=_factory(out))
        _tell(out, DONE)
    except _Refused as error:
        _tell(out, REFUSED, data=str(error).encode())
    except MemoryError:
        _tell(out, REFUSED, data=b"the 7z archive takes more memory than it is given")
    except Exception as error:  # noqa: BLE001 - whatever goes wrong in there is a fault of the archive
        _tell(out, REFUSED, data=f"the 7z archive is broken or no such archive ({type(error).__name__})".encode())


def _tell(out: BinaryIO, kind: bytes, *, data: bytes = b"") -> None:  # pragma: no cover - as above
    out.write(RECORD.pack(kind, len(data)))
    out.write(data)
    out.flush()


def _listed(archive: Any, most: int) -> list[dict[str, Any]]:  # pragma: no cover - as above
    if archive.needs_password():
        raise _Refused("the 7z archive is encrypted")
    entries = list(archive.files)
    if len(entries) > most:
        raise _Refused(f"the 7z archive has more than {most} entries")
    streams = archive.header.main_streams
    for folder in streams.unpackinfo.folders if streams is not None else ():
        if any(coder["method"] not in _BOUNDED for coder in folder.coders):
            raise _Refused("the 7z archive is packed in another way than LZMA, LZMA2 and bzip2, which is not opened")
    return [_entry(each) for each in entries]


def _entry(entry: Any) -> dict[str, Any]:  # pragma: no cover - as above
    if len(entry.filename) > LONGEST_NAME:
        raise _Refused("a member of the 7z archive has a name that is too long")
    plain = {0, stat.S_IFDIR if entry.is_directory else stat.S_IFREG}
    special = entry.is_symlink or entry.is_junction or entry.is_socket or (entry.st_fmt or 0) not in plain
    return {
        "name": entry.filename,
        "size": entry.uncompressed,
        "is_directory": entry.is_directory,
        "special": bool(special),
        "checksum": entry.crc32 if entry.crc32 is not None else _checksum_of_all(entry.folder),
    }


def _checksum_of_all(folder: Any) -> int | None:  # pragma: no cover - as above
    """Of a packed stream, which is that of its member where it holds one alone."""
    return folder.crc if folder is not None and folder.digestdefined and len(folder.files) == 1 else None


def _factory(out: BinaryIO) -> Any:  # pragma: no cover - as above
    """What py7zr asks for a writer of each member. Its own base classes are looked for, and only known with it."""
    from py7zr.io import Py7zIO, WriterFactory  # noqa: PLC0415 - an extra

    return type("Factory", (_Factory, WriterFactory), {})(out, type("Writer", (_Writer, Py7zIO), {}))


class _Factory:  # pragma: no cover - as above
    """Makes a writer for each member that is wanted."""

    def __init__(self, out: BinaryIO, writer: Any) -> None:
        self._out = out
        self._writer = writer

    def create(self, filename: str) -> Any:
        _tell(self._out, STARTED, data=filename.removeprefix(_TOP).encode())
        return self._writer(self._out)


class _Writer:  # pragma: no cover - as above
    """Tells what py7zr writes to it."""

    def __init__(self, out: BinaryIO) -> None:
        self._out = out
        self._size = 0

    def write(self, s: bytes | bytearray) -> int:
        for at in range(0, len(s), _PIECE):
            _tell(self._out, DATA, data=bytes(s[at : at + _PIECE]))
        self._size += len(s)
        return len(s)

    def read(self, size: int | None = None) -> bytes:
        del size
        return b""

    def seek(self, offset: int, whence: int = 0) -> int:
        del whence
        return offset

    def flush(self) -> None:
        """Nothing is held back."""

    def size(self) -> int:
        return self._size

    def close(self) -> None:
        _tell(self._out, ENDED)
