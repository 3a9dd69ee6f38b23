"""Lines that a person types: read without keeping the event loop or Ctrl-C waiting. Knows nothing of what they mean."""

from __future__ import annotations

import asyncio
import os
import termios
from typing import NamedTuple, TextIO

_MOST = 65_536


class Line(NamedTuple):
    """What was typed."""

    text: str
    ended: bool = False
    """Whether it was ended by Ctrl-D, or there is nothing more to read, and not by Enter."""


async def read_line(source: TextIO) -> Line:
    """The next line, without the space around it."""
    if not source.isatty():
        return _line(await asyncio.to_thread(source.readline))
    if not await _ready(source):
        return _line(await asyncio.to_thread(source.readline))
    # A terminal hands out a line at a time, also one that Ctrl-D cut short: readline() would go on waiting for its end.
    typed = os.read(source.fileno(), _MOST)
    return _line(typed.decode(source.encoding or "utf-8", errors="replace"))


def forget_typed(source: TextIO) -> None:
    """What was typed before the question could be read is no answer to it."""
    if source.isatty():
        termios.tcflush(source, termios.TCIFLUSH)


def _line(text: str) -> Line:
    return Line(text.strip(), ended=not text.endswith("\n"))


async def _ready(source: TextIO) -> bool:
    """Wait until a terminal has a line for us, so that Ctrl-C is heard meanwhile; False where one cannot wait so."""
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    try:
        loop.add_reader(source.fileno(), ready.set)
    except (NotImplementedError, OSError):
        return False
    try:
        await ready.wait()
    finally:
        loop.remove_reader(source.fileno())
    return True
