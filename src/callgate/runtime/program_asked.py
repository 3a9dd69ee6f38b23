"""What was asked for when a program was begun: whether it can be, whether it is the same again, and who may go on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from callgate.adapters.border import RESERVED
from callgate.errors import ProgramConflict
from callgate.flows.program.handed import NotPlain, plain_value
from callgate.model.canonical import NotCanonical, dumps

if TYPE_CHECKING:
    from callgate.model.context import Context
    from callgate.ports import Keys
    from callgate.runtime.program_forms import Program

LONGEST_SOURCE = 128 * 1024
_MOST_INPUTS = 64 * 1024 * 1024


def check_text(source: Any, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """The inputs, as a program can be given them.

    Raises:
        ValueError: The source or the inputs cannot be.
    """
    if not isinstance(source, str) or not source.strip():
        message = "a program is text, and not empty"
        raise ValueError(message)
    if len(source) > LONGEST_SOURCE:
        message = f"a program has {LONGEST_SOURCE} characters at most, not {len(source)}"
        raise ValueError(message)
    for name in inputs:
        if not str(name).isidentifier() or str(name).startswith(RESERVED):
            message = f"an input needs a name Python accepts, not {name!r}"
            raise ValueError(message)
    try:
        given: dict[str, Any] = plain_value(dict(inputs), most=_MOST_INPUTS)
        dumps([source, given])
    except (NotPlain, NotCanonical) as error:
        message = f"a program and its inputs are text and JSON values: {error}"
        raise ValueError(message) from None
    return given


def asker(context: Context) -> tuple[str, str | None, str]:
    """Whose program it is."""
    return context.principal, context.user, context.session


def fingerprint(keys: Keys, program: Program) -> str:
    """What is recorded of a program's text and inputs: keyed, so that nobody finds them by guessing."""
    return keys.fingerprint(b"program\0" + dumps(_said(program)))


def check_same(asked: Program, begun: Program) -> None:
    """Whether what is asked for is the program that has this id, asked for by somebody who may do what it may.

    Raises:
        ProgramConflict: It is not.
    """
    if _said(asked) != _said(begun):
        raise ProgramConflict(
            f"{begun.id} is the id of another program: its text, its inputs or who asks differ; use another key"
        )
    check_covers(asked.context, begun)


def check_covers(context: Context, program: Program) -> None:
    """A program runs under the context it was begun with; nobody who may do less makes it go on.

    Raises:
        ProgramConflict: The context may do less, or it cannot be known.
    """
    if not context.covers(program.context):
        message = (
            f"program {program.id} was begun under a context that may do more than this one, and does not go on for it"
        )
        raise ProgramConflict(message)


def _said(program: Program) -> list[Any]:
    return [program.source, program.inputs, *asker(program.context), program.dry_run]
