"""Vaults: where everybody's notes lie. Opens the folder of one user and one project, and no way leads to another's."""

from __future__ import annotations

import contextlib
import hashlib
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Generator
from dataclasses import dataclass, field
from pathlib import Path

from callgate.model.tool_context import ToolContext
from callgate.tools.confined import Confined, Held
from callgate.tools.replacing import flush
from callgate.tools.turns import many_readers, one_writer
from callgate.tools.vault.moving import finish, is_unfinished
from callgate.tools.vault.names import folder_name, owner_folder
from callgate.tools.vault.note_index import NoteIndex
from callgate.tools.vault.notes import Notes
from callgate.tools.vault.sight import Sight

DEFAULT_PROJECT = "default"
_MOST_INDEXES = 64
_MOST_AWAKE = 16
"""Projects whose folder is watched and whose index is held open: the system lends only so many of either."""
_LONGEST_WAIT = 10.0


@dataclass(frozen=True, slots=True)
class Project:
    """The notes of one user in one project, and their index."""

    notes: Notes
    index: NoteIndex
    in_step: InStep


@dataclass(slots=True)
class InStep:
    """How far an index is in step with the notes; for one at a time."""

    sight: Sight = field(default_factory=Sight)
    generation: str | None = None
    """The index's, when it was in step with what is in sight; None: it was not, or nobody knows."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @contextlib.contextmanager
    def alone(self, ctx: ToolContext) -> Generator[None]:
        """Nobody else in this process brings it in step meanwhile.

        Raises:
            TimeoutError: Somebody else does for too long.
        """
        left = ctx.remaining(time.monotonic())
        if not self._lock.acquire(timeout=_LONGEST_WAIT if left is None else min(left, _LONGEST_WAIT)):
            raise TimeoutError("the index of the notes is being brought up to date for another call; call again")
        try:
            yield
        finally:
            self._lock.release()

    def rest(self) -> None:
        """Let go of what it holds open, if nobody is at it."""
        if self._lock.acquire(blocking=False):
            try:
                self.sight.rest()
            finally:
                self._lock.release()


class Vaults:
    """The folder of all notes: below it one for each user, and below that one for each project."""

    def __init__(self, folder: Path, indexes: Path | None) -> None:
        self._folder = folder
        self._indexes = indexes
        self._open: OrderedDict[str, tuple[NoteIndex, InStep]] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def place(self) -> str:
        """The folder, for the policy to judge."""
        return str(self._folder)

    @contextlib.contextmanager
    def reading(self, ctx: ToolContext, project: str | None) -> Generator[Project | None]:
        """The project while nobody writes in it; None where it has no notes yet.

        Raises:
            PermissionError: The folder may not be read.
            TimeoutError: Somebody writes for too long.
        """
        with self._entered(ctx, project, make=False) as found:
            if found is None:
                yield None
                return
            with _turn(found.notes, ctx):
                yield found

    @contextlib.contextmanager
    def writing(self, ctx: ToolContext, project: str | None, *, make: bool) -> Generator[Project]:
        """The project while nobody else reads or writes in it.

        Args:
            ctx: Whose notes, and where it may go.
            project: The project; None is the usual one.
            make: Whether its folder is made where there is none.

        Raises:
            FileNotFoundError: There are no notes yet.
            PermissionError: The folder may not be written.
            TimeoutError: Others read or write for too long.
        """
        with self._entered(ctx, project, make=make) as found:
            if found is None:
                raise FileNotFoundError("there are no notes in this project yet")
            with one_writer(found.notes.folder, ctx):
                finish(found.notes)
                yield found

    @contextlib.contextmanager
    def _entered(self, ctx: ToolContext, project: str | None, *, make: bool) -> Generator[Project | None]:
        confined = Confined(ctx.grounds())
        with contextlib.ExitStack() as handles:
            try:
                folder = handles.enter_context(self._top(confined, make=make))
                _refuse_own(ctx, folder.place)
                for name in (owner_folder(ctx.context), folder_name(project or DEFAULT_PROJECT)):
                    folder = _enter(confined, folder, name=name, handles=handles, make=make)
            except FileNotFoundError:
                if make:
                    raise
                yield None
                return
            yield Project(Notes(confined, folder), *self._index(folder.place))

    @contextlib.contextmanager
    def _top(self, confined: Confined, *, make: bool) -> Generator[Held]:
        if make and not self._folder.exists():
            with confined.spot(self.place) as spot:
                _make(spot.folder.fd, spot.name)
        with confined.directory(self.place) as held:
            yield held

    def _index(self, place: str) -> tuple[NoteIndex, InStep]:
        """The index of the project in this folder: a file of Callgate's own, which is named by the folder's digest."""
        digest = hashlib.sha256(os.fsencode(place)).hexdigest()
        with self._lock:
            if digest not in self._open:
                file = None if self._indexes is None else self._indexes / "vault" / f"{digest}.db"
                self._open[digest] = NoteIndex(file), InStep()
            self._open.move_to_end(digest)
            while len(self._open) > _MOST_INDEXES:
                self._open.popitem(last=False)
            for index, in_step in list(self._open.values())[-_MOST_AWAKE - 1 : -_MOST_AWAKE]:
                index.rest()
                in_step.rest()
            return self._open[digest]


@contextlib.contextmanager
def _turn(notes: Notes, ctx: ToolContext) -> Generator[None]:
    """A turn with those who read, when no move is left unfinished."""
    while True:
        with many_readers(notes.folder, ctx):
            if not is_unfinished(notes):
                yield
                return
        with one_writer(notes.folder, ctx):
            finish(notes)


def _enter(confined: Confined, folder: Held, *, name: str, handles: contextlib.ExitStack, make: bool) -> Held:
    if make:
        _make(folder.fd, name)
    return handles.enter_context(confined.directory_at(folder, name))


def _make(above: int, name: str) -> None:
    with contextlib.suppress(FileExistsError):
        os.mkdir(name, dir_fd=above)
        flush(above)


def _refuse_own(ctx: ToolContext, place: str) -> None:
    for own in ctx.grounds().closed:
        if own == place or own.startswith(f"{place.rstrip('/')}/"):
            raise PermissionError(
                f"the vault {place} holds Callgate's own files ({own});"
                " set builtin_tools.vault.path to a folder of its own"
            )
