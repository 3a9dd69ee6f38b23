"""Keeping step: bringing an index up to what lies in the folder, whoever changed it.

A file that is stamped as it was is not read again. One that was changed in the same moment in which it was read may
be changed once more under the same stamp, so it is looked at again the next time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import TypeVar

from callgate.model.tool_context import ToolContext
from callgate.tools.vault.describing import Description, Title, describe
from callgate.tools.vault.index_file import IndexLost
from callgate.tools.vault.names import NOTE
from callgate.tools.vault.note_index import Indexed, NoteIndex
from callgate.tools.vault.notes import Notes, TooLarge
from callgate.tools.vault.sight import Stamp
from callgate.tools.vault.vaults import Project

T = TypeVar("T")

_AT_ONCE = 250
_MOMENT = 100_000_000
"""Nanoseconds in which two changes may have one stamp."""
_LOOK_AGAIN = 0
"""A stamp that no file has."""
_SPARE = 1.0
"""Seconds to stop before the limit, for what has to be done with the index."""


def look_up(project: Project, ctx: ToolContext, *, work: Callable[[NoteIndex], T]) -> T:
    """Ask an index that is in step; once more, and from the beginning, where it turns out to be broken.

    Raises:
        TimeoutError: As `keep_step`.
    """
    try:
        keep_step(project, ctx)
        return work(project.index)
    except IndexLost:
        keep_step(project, ctx)
        return work(project.index)


def keep_step(project: Project, ctx: ToolContext) -> None:
    """Take in every change there is; how far it is, is told as progress.

    Raises:
        TimeoutError: There is not enough time; what was taken in stays, and the next call goes on.
    """
    state, index = project.in_step, project.index
    with state.alone(ctx):
        told = state.sight.look(project.notes)
        # Until all of it is taken in, nobody knows how far the index is.
        last, state.generation = state.generation, None
        generation = index.generation()
        if told is None or last != generation:
            told = _differing(index.known(), state.sight.stamps) | (told or set())
        if not told:
            state.generation = generation
        elif _take_in(project, ctx, told=told):
            state.generation = index.generation()


def _differing(known: dict[str, Stamp], stamps: dict[str, Stamp]) -> set[str]:
    if known == stamps:
        return set()
    changed = {path for path, stamp in stamps.items() if known.get(path) != stamp}
    return changed | (known.keys() - stamps.keys())


def _take_in(project: Project, ctx: ToolContext, *, told: set[str]) -> bool:
    """Whether every note could be read."""
    notes, index, stamps = project.notes, project.index, project.in_step.sight.stamps
    gone = [path for path in told if path not in stamps]
    changed = sorted(path for path in told if path in stamps)
    if gone:
        index.change((), gone)
    taken = 0
    for at in range(0, len(changed), _AT_ONCE):
        _refuse_late(ctx, done=at, of=len(changed))
        part = changed[at : at + _AT_ONCE]
        found = list(_read(notes, part, digests=index.digests(part), stamps=stamps))
        index.change(found, ())
        taken += len(found)
        if len(changed) > _AT_ONCE:
            ctx.progress(min(1.0, (at + _AT_ONCE) / len(changed)), "reading notes")
    return taken == len(changed)


def _refuse_late(ctx: ToolContext, *, done: int, of: int) -> None:
    left = ctx.remaining(time.monotonic())
    if ctx.closed or (left is not None and left < _SPARE):
        raise TimeoutError(f"{done} of {of} new or changed notes are in the index; call again to go on")


def _read(notes: Notes, paths: list[str], *, digests: dict[str, str], stamps: dict[str, Stamp]) -> Iterator[Indexed]:
    with notes.reader() as read:
        for path in paths:
            now = time.time_ns()
            try:
                note = read(path)
                status, digest = note.status, note.digest
                told = None if digests.get(path) == digest else describe(path, note.content)
            except TooLarge as error:
                status, digest, told = error.status, "", _unread(path)
            except OSError:
                continue  # it went away, or nobody may read it
            rests = now - max(status.st_mtime_ns, status.st_ctime_ns) > _MOMENT
            stamp = stamps[path] if rests else _LOOK_AGAIN
            yield Indexed(path, stamp, status.st_size, status.st_mtime_ns, digest, told)


def _unread(path: str) -> Description:
    """Of a note that is too large: its name, so that it is listed."""
    name = path.rpartition("/")[2].removesuffix(NOTE)
    return Description(Title(name), "", "", "", frozenset(), many=False)
