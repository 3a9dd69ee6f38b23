"""The process in which a 7z archive is read, as this one sees it: what to do goes in, records come out."""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Generator
from typing import Any

from callgate.tools.archives.copied import Source
from callgate.tools.archives.limits import LARGEST_TOTAL, MOST_ENTRIES, Hostile
from callgate.tools.archives.sevenzip_worker import DONE, LARGEST_RECORD, RECORD, REFUSED
from callgate.tools.interpreter import start
from callgate.tools.readiness import news_of

_SECONDS = 60
"""Of computing, for one look at an archive."""
_BREATH = 200
"""Milliseconds."""
_WORKER = "callgate.tools.archives.sevenzip_worker"
_STOPPED = "the 7z archive takes more memory or time than it is given"


def ask(file: Source, wanted: list[str] | None) -> Generator[tuple[bytes, bytes]]:
    """What the process says of an archive: its list, or what is in the members that are wanted.

    Raises:
        Hostile: The archive is not taken, or the process came to no end.
    """
    with _handle(file) as handle, _started(handle, wanted) as worker:
        assert worker.stdout is not None  # noqa: S101 - a pipe was asked for
        reader = _Reader(worker.stdout.fileno(), file.watch)
        while True:
            kind, size = RECORD.unpack(reader.read(RECORD.size))
            if size > LARGEST_RECORD:
                raise Hostile(_STOPPED)
            data = reader.read(size)
            if kind == DONE:
                return
            if kind == REFUSED:
                raise Hostile(data.decode())
            yield kind, data


@contextlib.contextmanager
def _handle(file: Source) -> Generator[int]:
    """A handle that a process can be given: the file's own, or that of a copy of what lies in the memory."""
    try:
        yield file.fileno()
    except io.UnsupportedOperation:
        pass
    else:
        return
    with tempfile.TemporaryFile() as own:
        file.seek(0)
        shutil.copyfileobj(file, own)
        own.flush()
        yield own.fileno()


@contextlib.contextmanager
def _started(handle: int, wanted: list[str] | None) -> Generator[subprocess.Popen[bytes]]:
    question: dict[str, Any] = {
        "file": handle,
        "wanted": wanted,
        "most": MOST_ENTRIES,
        "room": LARGEST_TOTAL,
        "seconds": _SECONDS,
    }
    with start(_WORKER, pass_fds=(handle,)) as worker:
        try:
            assert worker.stdin is not None  # noqa: S101 - a pipe was asked for
            with contextlib.suppress(BrokenPipeError):
                worker.stdin.write(json.dumps(question).encode())
                worker.stdin.close()
            yield worker
        finally:
            worker.kill()


class _Reader:
    """Reads what the process says, and looks now and then whether anybody still waits for it."""

    def __init__(self, fd: int, watch: Callable[[], None]) -> None:
        self._fd = fd
        self._news = news_of(fd)
        self._watch = watch

    def read(self, size: int) -> bytes:
        """So many bytes.

        Raises:
            Hostile: The process ended before.
        """
        got = bytearray()
        while len(got) < size:
            self._watch()
            if not self._news(_BREATH):
                continue
            piece = os.read(self._fd, size - len(got))
            if not piece:
                raise Hostile(_STOPPED)
            got += piece
        return bytes(got)
