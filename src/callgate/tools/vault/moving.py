"""Moving: carrying a planned move out, so that after a crash at any instant the next access finishes or forgets it.

What is intended is written down and flushed first. Then the note gets its new path, which either happens or does not;
that it has happened is written down, too; then every note gets its new links, each replaced as a whole. Only then the
record goes. Who comes while there is a record goes through it again: what is done already is left as it is.
"""

from __future__ import annotations

import contextlib
import json
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from callgate.errors import NoEffect
from callgate.model.tool_context import ToolContext
from callgate.tools.vault.notes import ChangedMeanwhile, Notes
from callgate.tools.vault.planning import Plan, Rewriting
from callgate.tools.vault.record import Record

_AT_ONCE = 4
_TRIES = 5
_VERSION = 1


def carry_out(notes: Notes, plan: Plan, *, ctx: ToolContext) -> int:
    """Move the note and let the links follow; how many did.

    Raises:
        NoEffect: Something came to lie at the new path meanwhile.
        OSError: It could not be finished; the next access tries again.
    """
    with ctx.effect_sync():
        _write_down(notes, plan, placed=False)
        done = _finish(notes, plan, placed=False)
    if done is None:
        raise NoEffect(f"{plan.old} is gone, or something came to lie at {plan.new} meanwhile; nothing was moved")
    return done


def is_unfinished(notes: Notes) -> bool:
    """Whether a move was begun here and not finished."""
    record = Record(notes.folder)
    return record.exists() or record.is_begun()


def finish(notes: Notes) -> None:
    """Finish a move that was begun, or forget it where it cannot have begun. To be done alone.

    Raises:
        OSError: It cannot be finished now.
    """
    record = Record(notes.folder)
    record.forget_begun()
    if not record.exists():
        return
    try:
        plan, placed = _read(record.read())
    except (ValueError, KeyError, TypeError, RecursionError):
        # None of ours is ever half written: somebody else made this one.
        record.set_aside()
        return
    notes.sweep(rewriting.path for rewriting in plan.rewritings)
    _finish(notes, plan, placed=placed)


def _finish(notes: Notes, plan: Plan, *, placed: bool) -> int | None:
    """How many links were changed; None where the note could not get its new path, and nothing is changed."""
    if not placed:
        if not notes.relocate(plan.old, plan.new):
            Record(notes.folder).drop()
            return None
        _write_down(notes, plan, placed=True)
    # Flushing a file is waiting for the disk, and the disk flushes several at the cost of one.
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        done = sum(pool.map(partial(_rewrite, notes), plan.rewritings))
    Record(notes.folder).drop()
    return done


def _rewrite(notes: Notes, rewriting: Rewriting) -> int:
    for _ in range(_TRIES):
        with contextlib.suppress(ChangedMeanwhile):
            return _rewrite_once(notes, rewriting)
    return 0  # somebody writes it all the time; its links can be mended, and what is written cannot


def _rewrite_once(notes: Notes, rewriting: Rewriting) -> int:
    try:
        note = notes.read(rewriting.path)
    except (ValueError, PermissionError, IsADirectoryError):
        return 0  # since then it has become too large, a link, or nobody's to read
    content = None if note is None else rewriting.apply(note.content)
    if note is None or content is None:
        return 0
    notes.write(rewriting.path, content, before=note)
    return rewriting.links


def _write_down(notes: Notes, plan: Plan, *, placed: bool) -> None:
    value = {"version": _VERSION, "placed": placed, "move": plan.to_json()}
    Record(notes.folder).write(json.dumps(value).encode())


def _read(written: bytes) -> tuple[Plan, bool]:
    value: Any = json.loads(written)
    if value["version"] != _VERSION:
        raise ValueError("it is of another version")
    return Plan.from_json(value["move"]), bool(value["placed"])
