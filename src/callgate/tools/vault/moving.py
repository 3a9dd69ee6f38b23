"""Moving: carrying a planned move out, so that after a crash at any instant the next access finishes or forgets it.

What is intended is written down and flushed first. Then the note gets its new path, which either happens or does not;
that it has happened is written down, too; then every note gets its new links, each replaced as a whole. Only then the
record goes. Who comes while there is a record goes through it again: what is done already is left as it is.

What cannot get its new path keeps the old one. What cannot be finished after that for now, since the disk is full,
keeps its record, and the next access tries again; what never can is set aside for a person: one folder that nobody may
write in stops no other note.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable
from typing import Any

from callgate.errors import NoEffect
from callgate.model.tool_context import ToolContext
from callgate.tools.vault.notes import Notes
from callgate.tools.vault.planning import Plan, Rewriting
from callgate.tools.vault.record import LARGEST, UNFINISHED, Record, is_passing
from callgate.tools.vault.together import rewrite_together

_TRIES = 5
_VERSION = 1


class Unfinished(OSError):
    """A move could not be finished: it was set aside, or is tried again by the next access."""


class _NotPlaced(Exception):
    """The note could not get its new path, and nothing is changed."""


def carry_out(notes: Notes, plan: Plan, *, ctx: ToolContext) -> int:
    """Move the note and let the links follow; how many did.

    Raises:
        ValueError: It changes more than can be written down.
        PermissionError: One of the folders cannot be written.
        NoEffect: Something came to lie at the new path meanwhile, or it could not be moved there.
        Unfinished: The note is there, and not all links follow yet; the next access tries again.
        OSError: It could not be written down.
    """
    refuse_endless(plan)
    notes.refuse_unwritable(("", plan.old, plan.new, *(rewriting.path for rewriting in plan.rewritings)))
    with ctx.effect_sync():
        _write_down(notes, plan, placed=False)
        try:
            done = _finish(notes, plan, placed=False)
        except _NotPlaced as error:
            raise NoEffect(f"{plan.old} could not be moved to {plan.new}, and stays where it is: {error}") from error
        except OSError as error:
            raise _not_yet(plan, error) from error
    if done is None:
        raise NoEffect(f"{plan.old} is gone, or something came to lie at {plan.new} meanwhile; nothing was moved")
    return done


def refuse_protected(notes: Notes, plan: Plan) -> None:
    """The moved note itself only gets another name, unless it has links to be changed.

    Raises:
        PermissionError: A note whose links were to follow is protected against writing.
    """
    paths = (rewriting.path for rewriting in plan.rewritings)
    notes.refuse_protected(plan.old if path == plan.new else path for path in paths)


def refuse_endless(plan: Plan) -> None:
    """What is written down of a move has to be readable afterwards.

    Raises:
        ValueError: It is too much.
    """
    if len(_written(plan, placed=False)) > LARGEST:
        raise ValueError(
            f"this move changes too many different links: what has to be written down of it has more than {LARGEST}"
            " bytes. Choose a shorter new_path, or change some of the links first; nothing is moved"
        )


def is_unfinished(notes: Notes) -> bool:
    """Whether a move was begun here and not finished."""
    record = Record(notes.folder)
    return record.exists() or record.is_begun()


def finish(notes: Notes) -> None:
    """Finish a move that was begun, or forget it where it cannot have begun. To be done alone.

    Raises:
        Unfinished: It cannot be finished now, and the next access tries again; or it never can, and is set aside, so
            that the next access is not stopped by it.
        OSError: Not even that can be done.
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
    try:
        notes.sweep((plan.old, plan.new, *(rewriting.path for rewriting in plan.rewritings)))
        with contextlib.suppress(_NotPlaced):
            _finish(notes, plan, placed=placed)
    except OSError as error:
        if is_passing(error):
            raise _not_yet(plan, error) from error
        kept = record.set_aside(UNFINISHED)
        raise Unfinished(
            f"the move of {plan.old} to {plan.new}, which was interrupted, cannot be finished ({error}): some links to"
            f" it may still have the old path. What it was to change is in {kept} beside the notes; call again"
        ) from error


def _not_yet(plan: Plan, error: OSError) -> Unfinished:
    return Unfinished(
        f"the move of {plan.old} to {plan.new} could not be finished ({error}): some links to it may still have the old"
        " path. It is tried again whenever these notes are used; see to that, and call again"
    )


def _finish(notes: Notes, plan: Plan, *, placed: bool) -> int | None:
    """How many links were changed; None where the note could not get its new path, and nothing is changed."""
    if not placed:
        if not _placed(notes, plan):
            Record(notes.folder).drop()
            return None
        _write_down(notes, plan, placed=True)
    done = _rewrite_all(notes, plan.rewritings)
    Record(notes.folder).drop()
    return done


def _placed(notes: Notes, plan: Plan) -> bool:
    """Whether the note has its new path now.

    Raises:
        _NotPlaced: It cannot get it; it is where it was, and the move is forgotten.
        OSError: It may have both, and neither can be taken away; or it has it, and that may not be on the disk.
    """
    try:
        return notes.relocate(plan.old, plan.new)
    except OSError as error:
        notes.put_back(plan.old, plan.new)
        if not notes.exists(plan.old):
            raise
        Record(notes.folder).drop()
        raise _NotPlaced(str(error)) from error


def _rewrite_all(notes: Notes, rewritings: Iterable[Rewriting]) -> int:
    """How many links were changed.

    Raises:
        OSError: Some could not be; all others are.
    """
    links, errors = 0, list[OSError]()
    for _ in range(_TRIES):
        # What somebody writes all the time is left at last: links can be mended, and what is written cannot.
        result = rewrite_together(notes, rewritings)
        links += sum(rewriting.links for rewriting in result.done)
        errors += result.errors
        rewritings = result.changed
        if not rewritings:
            break
    if errors:
        raise next(filter(is_passing, errors), errors[0])
    return links


def _write_down(notes: Notes, plan: Plan, *, placed: bool) -> None:
    Record(notes.folder).write(_written(plan, placed=placed))


def _written(plan: Plan, *, placed: bool) -> bytes:
    return json.dumps({"version": _VERSION, "placed": placed, "move": plan.to_json()}).encode()


def _read(written: bytes) -> tuple[Plan, bool]:
    value: Any = json.loads(written)
    if value["version"] != _VERSION:
        raise ValueError("it is of another version")
    if not isinstance(value["placed"], bool):
        raise TypeError("whether it has begun is a yes or a no")
    return Plan.from_json(value["move"]), value["placed"]
