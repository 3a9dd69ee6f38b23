"""Shelf: which archives a session opened, the last ones only; and finding the one that a call means."""

from __future__ import annotations

import contextlib
import re
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any

from callgate.errors import InvalidArguments
from callgate.model.context import Context
from callgate.model.tool_context import ToolContext
from callgate.tools.archives.copied import DIGITS, copied
from callgate.tools.archives.examining import Archive, examine
from callgate.tools.confined import Confined, Held

_SESSIONS = 256
_OF_A_SESSION = 8
_MARK = "#"
_NAME = re.compile(rf"(?P<path>.*){_MARK}(?P<digest>[0-9a-f]{{{DIGITS}}})", re.DOTALL)
"""That of an archive. A file may have the mark in its own."""
_NAMING = "call archive_open first, and pass the archive_name that archive_open gave, which counts in any process"
_NONE_OPEN = f"no archive is open in this session; {_NAMING}"


@dataclass(frozen=True, slots=True)
class Opened:
    """An archive that a call uses: examined, and its file held."""

    archive: Archive
    held: Held
    digest: str
    """Of all its bytes."""
    name: str
    """By which later calls name it: who knows the digest has looked at what is in it."""


class Shelf:
    """What was opened, by who asked: (principal, session)."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sessions: OrderedDict[tuple[str, str], OrderedDict[str, str]] = OrderedDict()

    @contextlib.contextmanager
    def open(self, path: str, ctx: ToolContext) -> Generator[Opened]:
        """Open an archive and remember it.

        Raises:
            Hostile: Something is wrong with it.
            PermissionError: It may not be touched.
        """
        with _opened(path, ctx) as opened:
            self._remember(ctx, opened)
            yield opened

    @contextlib.contextmanager
    def find(self, name: str | None, ctx: ToolContext) -> Generator[Opened]:
        """Open the archive that a call means, which was looked at before and is still the same.

        Raises:
            ValueError: None was opened, or it changed since.
        """
        place, digest = self._place(name, ctx)
        with _opened(place, ctx) as opened:
            if opened.digest != digest:
                raise ValueError(f"{opened.held.place} changed since it was opened; call archive_open again")
            yield opened

    def check(self, arguments: dict[str, Any], context: Context) -> None:
        """Whether a call can be about any archive at all. Asked before a person is.

        Where a name leads is not known here, so a name alone is enough.

        Raises:
            InvalidArguments: None that it may mean was opened.
        """
        name = arguments.get("archive_name")
        shelf = self._opened_by(context)
        if name is None:
            if not shelf:
                raise InvalidArguments(_NONE_OPEN)
        elif not _NAME.fullmatch(name) and _file_name(name) not in map(_file_name, shelf):
            raise InvalidArguments(_not_open(name))

    def _opened_by(self, context: Context) -> dict[str, str]:
        with self._lock:
            return dict(self._sessions.get((context.principal, context.session), {}))

    def _remember(self, ctx: ToolContext, opened: Opened) -> None:
        asker = (ctx.context.principal, ctx.context.session)
        with self._lock:
            shelf = self._sessions.setdefault(asker, OrderedDict())
            self._sessions.move_to_end(asker)
            shelf[opened.held.place] = opened.digest
            shelf.move_to_end(opened.held.place)
            if len(shelf) > _OF_A_SESSION:
                shelf.popitem(last=False)
            if len(self._sessions) > _SESSIONS:
                self._sessions.popitem(last=False)

    def _place(self, name: str | None, ctx: ToolContext) -> tuple[str, str]:
        """(where it lies, what it held): by the name archive_open gave, by its path or file name, or the last one."""
        shelf = self._opened_by(ctx.context)
        if name is None:
            if not shelf:
                raise ValueError(_NONE_OPEN)
            return next(reversed(shelf.items()))
        given = _NAME.fullmatch(name)
        if given is not None:
            return given["path"], given["digest"]
        place = Confined(ctx.grounds()).locate(name)
        for known, held in reversed(shelf.items()):
            if known == place or _file_name(known) == name:
                return known, held
        raise ValueError(_not_open(name))


def file_of(name: str) -> str:
    """Where an archive lies by its name: without the digest that archive_open put behind it."""
    given = _NAME.fullmatch(name)
    return name if given is None else given["path"]


def _file_name(path: str) -> str:
    return path.rpartition("/")[2]


def _not_open(name: str) -> str:
    return f"archive {name!r} is not open in this session; {_NAMING}"


@contextlib.contextmanager
def _opened(path: str, ctx: ToolContext) -> Generator[Opened]:
    confined = Confined(ctx.grounds())
    with confined.file(path) as held, copied(held, _watching(ctx)) as file:
        archive = examine(file, held.status.st_size)
        yield Opened(archive, held, file.digest, f"{confined.show(held.place)}{_MARK}{file.digest}")


def _watching(ctx: ToolContext) -> Callable[[], None]:
    """What stops a call that was given up, or has taken its time, between two pieces of its work."""

    def watch() -> None:
        if ctx.closed or ctx.remaining(time.monotonic()) == 0:
            raise TimeoutError("the archive took too long")

    return watch
