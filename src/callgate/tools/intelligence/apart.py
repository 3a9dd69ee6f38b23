"""Apart: asks a process that parses sources, and ends it when it takes too long or is no longer needed.

A grammar that crashes or never ends on some file costs that file, and nothing else.
"""

from __future__ import annotations

import contextlib
import math
import os
import subprocess
import time
from typing import IO, Any, Self, cast

import orjson

from callgate.tools.intelligence.worker import HEAD
from callgate.tools.interpreter import start
from callgate.tools.readiness import news_of, room_in

WORKER = "callgate.tools.intelligence.worker"
_PIECE = 1024 * 1024
_MOST_ANSWERED = 256 * 1024 * 1024
_STARTING = 20.0
"""Seconds until it answers at all: libraries are read, and the machine may be busy."""


class Lost(Exception):
    """The process gave no answer: it crashed, or took too long."""


class NotStarted(OSError):
    """There is no process to ask: nothing can be said of any source."""


class Apart:
    """One process, started when it is first asked, and again after one was lost."""

    def __init__(self) -> None:
        self._child: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def ask(self, request: dict[str, Any], content: bytes = b"", *, seconds: float, left: float = math.inf) -> Any:
        """One answer.

        Args:
            request: What is wanted.
            content: The bytes of a file.
            seconds: How long it may take; starting the process is not counted.
            left: How long at most, however busy the machine is.

        Raises:
            Lost: There is none within its time; the process is ended.
            NotStarted: The process does not answer anything.
        """
        until = time.monotonic() + left
        if self._child is None:
            self._start(min(until, time.monotonic() + _STARTING))
        return self._answer(request, content, deadline=min(until, time.monotonic() + seconds))

    def _answer(self, request: dict[str, Any], content: bytes, *, deadline: float) -> Any:
        child = cast("subprocess.Popen[bytes]", self._child)
        told = orjson.dumps(request)
        try:
            _send(child, HEAD.pack(len(told), len(content)) + told + content, deadline=deadline)
            return orjson.loads(_receive(child, deadline))
        except (OSError, EOFError, orjson.JSONDecodeError):
            self.end()
            raise Lost("the process that reads sources gave no answer") from None
        except BaseException:
            self.end()
            raise

    def end(self) -> None:
        """End the process, whatever it does."""
        child, self._child = self._child, None
        if child is None:
            return
        child.kill()
        for pipe in (child.stdin, child.stdout):
            with contextlib.suppress(OSError):
                cast("IO[bytes]", pipe).close()
        child.wait()

    def _start(self, deadline: float) -> None:
        """Start the process, and see that it answers: what it is asked next is to blame where it does not."""
        self._child = start(WORKER, pass_fds=())
        try:
            self._answer({"do": "extract", "language": "text"}, b"", deadline=deadline)
        except Lost:
            raise NotStarted("the process that reads sources does not start; is the machine too busy?") from None


def _send(child: subprocess.Popen[bytes], data: bytes, *, deadline: float) -> None:
    into = cast("IO[bytes]", child.stdin).fileno()
    os.set_blocking(into, False)
    room = room_in(into)
    view = memoryview(data)
    while view:
        if not room(_left(deadline)):
            raise TimeoutError
        view = view[os.write(into, view[:_PIECE]) :]


def _receive(child: subprocess.Popen[bytes], deadline: float) -> bytes:
    length, _ = HEAD.unpack(_read(child, HEAD.size, deadline=deadline))
    if length > _MOST_ANSWERED:
        raise EOFError
    return _read(child, length, deadline=deadline)


def _read(child: subprocess.Popen[bytes], length: int, *, deadline: float) -> bytes:
    out = cast("IO[bytes]", child.stdout).fileno()
    news = news_of(out)
    pieces: list[bytes] = []
    while length:
        if not news(_left(deadline)):
            raise TimeoutError
        piece = os.read(out, min(length, _PIECE))
        if not piece:
            raise EOFError
        pieces.append(piece)
        length -= len(piece)
    return b"".join(pieces)


def _left(deadline: float) -> float:
    """Milliseconds."""
    return max(0.0, deadline - time.monotonic()) * 1000
